# syntax=docker/dockerfile:1
# docker buildx build --platform linux/amd64,linux/arm64 -t registry.example.com/muster:v0.1.0 .
#
# The same commit gives the same binary for every builder anywhere: make test-chart builds it in two places. Give the images below by digest where the
# rest has to be the same, too.

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags=grpcnotrace -buildvcs=true -ldflags='-s -w' -o /muster ./cmd/muster

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /muster /muster
USER 65532:65532
EXPOSE 8886 8887 8888 8889 8890
ENTRYPOINT ["/muster"]

package remote

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/explanation"
)

// WhyGang asks why the gangs of a name wait.
func (c *Client) WhyGang(ctx context.Context, namespace, name string) (*explanation.Gangs, error) {
	told := &explanation.Gangs{}
	return told, c.aboutGang(ctx, "/debug/gangs/", namespace, name, told)
}

// When asks when the gangs of a name start.
func (c *Client) When(ctx context.Context, namespace, name string) (*backfill.Forecasts, error) {
	told := &backfill.Forecasts{}
	return told, c.aboutGang(ctx, "/debug/when/", namespace, name, told)
}

// aboutGang gets a page about the gangs of a name. The error says where there is no such gang, and which one may be meant.
func (c *Client) aboutGang(ctx context.Context, page, namespace, name string, told any) error {
	err := c.get(ctx, page+url.PathEscape(namespace)+"/"+url.PathEscape(name), told)
	if answer, ok := errors.AsType[*AnswerError](err); ok && answer.Status == http.StatusNotFound {
		names, listErr := c.Gangs(ctx)
		if listErr != nil {
			return listErr
		}
		return absent("gang", namespace+"/"+name, names)
	}
	return err
}

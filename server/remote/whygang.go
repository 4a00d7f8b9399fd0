package remote

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"muster.dev/muster/server/explanation"
)

// WhyGang asks why the gangs of a name wait.
func (c *Client) WhyGang(ctx context.Context, namespace, name string) (*explanation.Gangs, error) {
	told := &explanation.Gangs{}
	err := c.get(ctx, "/debug/gangs/"+url.PathEscape(namespace)+"/"+url.PathEscape(name), told)
	if answer, ok := errors.AsType[*AnswerError](err); ok && answer.Status == http.StatusNotFound {
		names, listErr := c.Gangs(ctx)
		if listErr != nil {
			return nil, listErr
		}
		return nil, absent("gang", namespace+"/"+name, names)
	}
	if err != nil {
		return nil, err
	}
	return told, nil
}

// Has muster's answers at the paths in window.fake be replaced: { status, body }, or null for one that does not come until
// window.release() is called. What was asked is in window.asked, with the ETag.
(() => {
  const ask = window.fetch;
  Object.assign(window, { fake: {}, asked: [], waiting: [], most: 0 });
  window.release = () => window.waiting.splice(0).forEach((go) => go());
  window.fetch = async (path, options) => {
    const etag = options.headers['If-None-Match'] ?? '';
    asked.push({ path, etag });
    if (!(path in fake)) return ask(path, options);
    if (fake[path] === null) {
      await new Promise((go) => window.most = Math.max(window.most, window.waiting.push(go)));
      if (fake[path] === null) return ask(path, options);
    }
    const { status = 200, body } = fake[path];
    const now = JSON.stringify(body);
    return etag === now ? new Response(null, { status: 304 }) : Response.json(body, { status, headers: { ETag: now } });
  };
  window.count = (path) => asked.filter((one) => one.path === path).length;
  return true;
})()

import { describe, expect, it } from 'vitest';
import { LinkRewriter, rewriteLink } from './rewrite-links.ts';

const place = { prefix: '/api/v1/namespaces/n/services/s/proxy', hosts: ['10.0.0.7:80', 'localhost:8001'] };

describe('rewriteLink', () => {
  it.each([
    ['an absolute path', '/a/b?c#d', `${place.prefix}/a/b?c#d`],
    ['a path that has the prefix', `${place.prefix}/a`, `${place.prefix}/a`],
    ['a path that only begins like it', `${place.prefix}x`, `${place.prefix}${place.prefix}x`],
    ['a link to the own host', 'http://10.0.0.7:80/a', `${place.prefix}/a`.replace(':80', '')],
    ['a link to the host that was asked', 'http://localhost:8001/a?b', `${place.prefix}/a?b`],
    ['a link to another host', 'https://example.com/a', 'https://example.com/a'],
    ['a link without a scheme to another host', '//example.com/a', '//example.com/a'],
    ['a relative link', 'a/b', 'a/b'],
    ['a fragment', '#a', '#a'],
    ['a script', 'javascript:x()', 'javascript:x()'],
    ['what is no link', 'http://[', 'http://['],
  ])('%s', (_, link, expected) => {
    const hosts = [...place.hosts, '10.0.0.7'];
    expect(rewriteLink(link, { ...place, hosts })).toBe(expected);
  });
});

async function rewritten(pieces: (string | Buffer)[]): Promise<string> {
  const rewriter = new LinkRewriter(place);
  const out: Buffer[] = [];
  const reading = (async () => {
    for await (const piece of rewriter) out.push(piece as Buffer);
  })();
  for (const piece of pieces) rewriter.write(piece);
  rewriter.end();
  await reading;
  return Buffer.concat(out).toString('latin1');
}

const p = place.prefix;

describe('a page', () => {
  it.each([
    ['double quotes', '<a class="/x" href="/y">z</a>', `<a class="/x" href="${p}/y">z</a>`],
    ['single quotes', "<IMG SRC='/y' alt=''/>", `<IMG SRC='${p}/y' alt=''/>`],
    ['no quotes', '<script src=/y></script>', `<script src=${p}/y></script>`],
    ['spaces around the equals sign', '<a href = "/y" >', `<a href = "${p}/y" >`],
    ['several attributes', '<form method=get action="/f">', `<form method=get action="${p}/f">`],
    ['text with links', '/y "/z" <p href="/y">', '/y "/z" <p href="/y">'],
    ['a quoted end of a tag', '<a title=">" href="/y">', `<a title=">" href="${p}/y">`],
    ['a comment', '<!-- <a href="/y"> --><a href="/y">', `<!-- <a href="/y"> --><a href="${p}/y">`],
    ['a script', '<script>"<a href=\'/y\'>"</SCRIPT><a href="/y">', `<script>"<a href='/y'>"</SCRIPT><a href="${p}/y">`],
    ['an attribute without a value', '<input disabled src="/y">', `<input disabled src="${p}/y">`],
    ['an open tag at the end', '<a href="/y"', '<a href="/y"'],
    ['a lonely sign', 'a < b', 'a < b'],
  ])('with %s', async (_, html, expected) => {
    expect(await rewritten([html])).toBe(expected);
    // However it is cut.
    expect(await rewritten([...html])).toBe(expected);
  });

  it('keeps bytes that are no ASCII', async () => {
    const bytes = Buffer.from(Array.from({ length: 128 }, (_, i) => i + 128));
    expect(await rewritten([bytes])).toBe(bytes.toString('latin1'));
  });

  it('of nothing but beginnings takes no longer than any other', async () => {
    const beganAt = performance.now();
    for (const part of ['<', '<a ', '<"', '<\'<"', '<script>']) await rewritten([part.repeat(200_000 / part.length)]);
    // A search from every sign to the end would take minutes.
    expect(performance.now() - beganAt).toBeLessThan(10_000);
  });

  it('holds no tag that does not end', async () => {
    const long = `<a ${'b'.repeat(100_000)}`;
    const rewriter = new LinkRewriter(place);
    rewriter.write(long);
    expect(rewriter.read()?.length).toBeGreaterThan(80_000);
  });
});

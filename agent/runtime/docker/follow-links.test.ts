import { describe, expect, it } from 'vitest';
import { followLinks } from './follow-links.ts';

/** Paths with what they are: "" is no link, other text where a link leads. */
const tree: Readonly<Record<string, string>> = {
  '/': '',
  '/a': '',
  '/a/b': '',
  '/a/b/file': '',
  '/a/up': '../c',
  '/c': '',
  '/c/file': '',
  '/short': '/a/b',
  '/short-file': 'short/file',
  '/a/b/back': '../../c/./file',
  '/nowhere': '/a/nothing',
  '/chain': 'nowhere',
  '/around': 'around',
};

async function follow(path: string, hasNoLinks: (path: string) => boolean = () => false) {
  const looked: string[] = [];
  const look = async (at: string) => {
    looked.push(at);
    const target = tree[at];
    return target === undefined ? undefined : { type: target === '' ? 'file' : 'link', target };
  };
  return { found: await followLinks(path, look, hasNoLinks), looked };
}

describe('links of a path', () => {
  it.each([
    ['/', '/'],
    ['/a/b/file', '/a/b/file'],
    ['/a/up/file', '/c/file'],
    ['/short/file', '/a/b/file'],
    ['/short-file', '/a/b/file'],
    // ".." in a link counts from where the link is, not from how it was reached.
    ['/short/back', '/c/file'],
  ])('of %s lead to %s', async (path, end) =>
    expect((await follow(path)).found).toMatchObject({ path: end, entry: { type: 'file' } }),
  );

  it('may lead to nothing: then the first of them at the end of the path is what is there', async () => {
    expect((await follow('/nowhere')).found).toMatchObject({ path: '/nowhere', entry: { type: 'link' } });
    expect((await follow('/chain')).found).toMatchObject({ path: '/chain', entry: { type: 'link' } });
  });

  it('are not followed for ever', async () => expect((await follow('/around')).found).toBe('too many links'));

  it('are not there where nothing is', async () => {
    for (const path of ['/x', '/a/x/y', '/nowhere/x', '/short/x']) expect((await follow(path)).found).toBeUndefined();
  });

  it('are not looked for where there are none, but what the path is', async () => {
    const { found, looked } = await follow('/a/b/file', (path) => path === '/a' || path === '/a/b');
    expect([found, looked]).toMatchObject([{ path: '/a/b/file' }, ['/a/b/file']]);
    expect((await follow('/a/b', () => true)).looked).toEqual(['/a/b']);
  });
});

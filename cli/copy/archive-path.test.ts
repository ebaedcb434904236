import { describe, expect, it } from 'vitest';
import { entryPath, staysInside } from './archive-path.ts';
import { parseFileSpec } from './file-spec.ts';

describe('the name of an archive entry', () => {
  it.each([
    ['log', []],
    ['log/', []],
    ['log/a/b', ['a', 'b']],
    ['/bin/x', ['bin', 'x']],
    ['log/./a', ['a']],
  ])('%s is unpacked below the target as %j', (name, path) => expect(entryPath(name)).toEqual(path));

  it.each(['../x', 'log/../../x', 'log/a/..', 'log/\0'])('%j is refused, since it leads out of the target', (name) =>
    expect(entryPath(name)).toBeUndefined(),
  );
});

describe('a symbolic link', () => {
  it.each([
    ['a/link', 'file'],
    ['a/link', '../file'],
    ['a/b/link', '../../c/d'],
    ['a/link', './b/c'],
  ])('%s -> %s stays inside', (path, target) => expect(staysInside(path.split('/'), target)).toBe(true));

  it.each([
    ['link', '/etc/passwd'],
    ['link', '../file'],
    ['a/link', '../../file'],
    // Behind another link, ".." may lead anywhere.
    ['a/link', 'other/../file'],
    ['link', ''],
  ])('%s -> %s may lead out', (path, target) => expect(staysInside(path.split('/'), target)).toBe(false));
});

describe('an argument of cp', () => {
  it('names a local file, or a file in a pod with or without a namespace', () => {
    expect(parseFileSpec('notes.txt')).toEqual({ place: 'local', path: 'notes.txt' });
    expect(parseFileSpec('./a:b')).toEqual({ place: 'local', path: './a:b' });
    expect(parseFileSpec('/tmp/a:b')).toEqual({ place: 'local', path: '/tmp/a:b' });
    expect(parseFileSpec('web:/tmp/a:b')).toEqual({ place: 'pod', namespace: undefined, pod: 'web', path: '/tmp/a:b' });
    expect(parseFileSpec('prod/web:log')).toEqual({ place: 'pod', namespace: 'prod', pod: 'web', path: 'log' });
  });

  it.each(['', ':/tmp', 'web:', 'a/b/c:/tmp', 'a/:/tmp'])('%j is refused', (text) => expect(() => parseFileSpec(text)).toThrow());
});

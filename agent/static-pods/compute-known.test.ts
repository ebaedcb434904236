import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { complaintOf, computeKnown, type KnownFiles, podsIn } from './compute-known.ts';
import type { FoundFile } from './folder.ts';
import type { ReadManifest } from './manifest.ts';

/** "name hash" is a pod, anything else is broken. */
function read(text: string, file: string): ReadManifest {
  const [name = '', uid] = text.split(' ');
  if (uid === undefined) return { problems: [`${file}:1: ${text}`] };
  const pod: Pod = { metadata: { name, namespace: 'default', uid } };
  return { pod, warnings: [] };
}
const found = (files: Record<string, string | undefined>) =>
  new Map(
    Object.entries(files).map(([file, text]): [string, FoundFile] => [
      file,
      text === undefined ? { problem: `${file}: cannot be read` } : { text },
    ]),
  );
const look = (files: Record<string, string | undefined>, before: KnownFiles = new Map()) =>
  computeKnown(found(files), before, read);
const uids = (known: KnownFiles) => podsIn(known).map(({ metadata }) => metadata?.uid);
const complaints = (known: KnownFiles) => [...known].flatMap(([file, each]) => complaintOf(file, each) ?? []);

describe('what files say', () => {
  it('is a pod for each, and none for files that are gone', () => {
    const before = look({ a: 'web 1', b: 'db 2' });
    expect(uids(before)).toEqual(['1', '2']);
    expect(uids(look({ b: 'db 2' }, before))).toEqual(['2']);
  });

  it('is the very same pod while the content is the same, however it is written', () => {
    const before = look({ a: 'web 1' });
    const after = look({ a: 'web 1 rewritten' }, before);
    expect(podsIn(after)[0]).toBe(podsIn(before)[0]);
    expect(uids(look({ a: 'web 3' }, after))).toEqual(['3']);
  });

  it('is read only where a text has changed', () => {
    const before = look({ a: 'web 1', b: 'broken' });
    const asked: string[] = [];
    const after = computeKnown(found({ a: 'web 1', b: 'broken', c: 'db 2' }), before, (text, file) => {
      asked.push(file);
      return read(text, file);
    });
    expect(asked).toEqual(['c']);
    expect(complaints(after)).toEqual(complaints(before));
  });

  it.each([
    ['broken', 'broken', 'a:1: broken'],
    ['unreadable', undefined, 'a: cannot be read'],
  ])('stays what it was while a file is %s, and others are not concerned', (_, text, problem) => {
    const before = look({ a: 'web 1', b: 'db 2' });
    const after = look({ a: text, b: 'db 3' }, before);
    expect(uids(after)).toEqual(['1', '3']);
    expect(complaints(after)).toEqual([
      `the file of a static pod is not right, pod "default/web" goes on as it was until it is mended or removed: ${problem}`,
    ]);
    expect(complaints(look({ a: 'web 1', b: 'db 3' }, after))).toEqual([]);
  });

  it('is nothing of a file that was never right', () => {
    const known = look({ a: 'broken' });
    expect([uids(known), complaints(known)]).toEqual([
      [],
      ['the file of a static pod is not right, no pod runs for it until it is mended or removed: a:1: broken'],
    ]);
  });

  it('is one pod where two files give the same name: of the file that had it before, or else of the first', () => {
    expect(uids(look({ a: 'web 1', b: 'web 2' }))).toEqual(['1']);
    const before = look({ b: 'web 2' });
    const both = look({ '#b#': 'web 1', b: 'web 2' }, before);
    expect(uids(both)).toEqual(['2']);
    expect(complaints(both)).toEqual([
      '#b#:1: describes pod "default/web", as b does already: give it another name, or remove it',
    ]);
    const still = look({ '#b#': 'web 1', b: 'web 2' }, both);
    expect(uids(still)).toEqual(['2']);
    expect(uids(look({ '#b#': 'web 1' }, still))).toEqual(['1']);
  });
});

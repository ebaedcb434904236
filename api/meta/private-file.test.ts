import { expect, it } from 'vitest';
import { privateFileProblem, privateFolderProblem } from './private-file.ts';

it.each([
  ['its owner alone', 0o600, 1000, undefined],
  ['its owner alone, who may not write', 0o400, 1000, undefined],
  ['root, from any user', 0o600, 0, undefined],
  ['a group that may read', 0o640, 1000, /others have access to it \(mode 640\): chmod 600 \/k$/],
  ['everybody', 0o604, 1000, /mode 604/],
  ['other users who may only write', 0o602, 1000, /mode 602/],
  ['another user', 0o600, 1001, /belongs to user 1001, not to user 1000: chown 1000 \/k$/],
] as const)('judges a key of %s', (_, mode, uid, problem) => {
  const found = privateFileProblem('/k', { mode: 0o100000 | mode, uid }, 1000);
  if (problem) expect(found).toMatch(problem);
  else expect(found).toBeUndefined();
});

it('judges nothing on a system without users', () => {
  expect(privateFileProblem('/k', { mode: 0o666, uid: 0 }, undefined)).toBeUndefined();
  expect(privateFolderProblem('/d', { mode: 0o777, uid: 0 }, undefined)).toBeUndefined();
});

it.each([
  ['700', 0o700, 1000, undefined],
  ['775, of a user with a group of his own', 0o775, 1000, undefined],
  ['777', 0o777, 1000, /other users may replace them \(mode 777\): chmod o-w \/d$/],
  ['700 of another user', 0o700, 7, /belongs to user 7/],
] as const)('judges a folder of mode %s', (_, mode, uid, problem) => {
  const found = privateFolderProblem('/d', { mode: 0o040000 | mode, uid }, 1000);
  if (problem) expect(found).toMatch(problem);
  else expect(found).toBeUndefined();
});

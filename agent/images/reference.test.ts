import { describe, expect, it } from 'vitest';
import { canonicalReference, formatImageName, InvalidReferenceError, parseImageName } from './reference.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('a reference of an image', () => {
  it.each([
    ['nginx', 'docker.io/library/nginx:latest'],
    ['nginx:1.27', 'docker.io/library/nginx:1.27'],
    ['team/app', 'docker.io/team/app:latest'],
    ['docker.io/nginx', 'docker.io/library/nginx:latest'],
    ['index.docker.io/library/nginx:1', 'docker.io/library/nginx:1'],
    ['localhost/app', 'localhost/app:latest'],
    ['registry:5000/a/b:1', 'registry:5000/a/b:1'],
    ['[::1]:5000/app', '[::1]:5000/app:latest'],
    ['Registry.example.com/app:V_1.0-x', 'Registry.example.com/app:V_1.0-x'],
    ['a__b/c-d--e.f', 'docker.io/a__b/c-d--e.f:latest'],
    [`quay.io/app@${digest}`, `quay.io/app@${digest}`],
    [`quay.io/app:1@${digest}`, `quay.io/app@${digest}`],
  ])('%s means %s', (reference, canonical) => {
    expect(formatImageName(parseImageName(reference))).toBe(canonical);
  });

  it.each([
    ['', 'invalid reference format'],
    ['Not A Name', 'must be lowercase'],
    ['Nginx', 'must be lowercase'],
    ['nginx:', 'invalid reference format'],
    ['nginx:a b', 'invalid reference format'],
    [`nginx:${'a'.repeat(129)}`, 'invalid reference format'],
    ['-a/b', 'invalid reference format'],
    ['a//b', 'invalid reference format'],
    ['https://quay.io/app', 'invalid reference format'],
    ['nginx@sha256:abc', 'invalid reference format'],
    [`nginx@sha256:${'a'.repeat(40)}`, 'invalid reference format'],
    [`nginx@${digest}@${digest}`, 'invalid reference format'],
    ['a'.repeat(64), 'is no name'],
    [`a/${'b'.repeat(250)}`, 'not be more than 255'],
  ])('"%s" is none: %s', (reference, words) => {
    expect(() => parseImageName(reference)).toThrow(InvalidReferenceError);
    expect(() => parseImageName(reference)).toThrow(words);
    expect(canonicalReference(reference)).toBeUndefined();
  });
});

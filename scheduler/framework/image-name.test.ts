import { expect, it } from 'vitest';
import { imageName } from './image-name.ts';

it.each([
  ['web', 'web:latest'],
  ['web:1', 'web:1'],
  ['docker.io/library/web:1', 'web:1'],
  ['index.docker.io/team/web:1', 'team/web:1'],
  ['registry.example:5000/web', 'registry.example:5000/web:latest'],
  ['registry.example:5000/library/web:2', 'registry.example:5000/library/web:2'],
  ['web@sha256:0a', 'web@sha256:0a'],
  ['docker.io/library/web:1@sha256:0a', 'web@sha256:0a'],
])('gives the image %s the name %s', (reference, expected) => {
  expect(imageName(reference)).toBe(expected);
});

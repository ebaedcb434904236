import { describe, expect, it } from 'vitest';
import { node, pod } from '../../test/builders/index.ts';
import { judge } from '../../test/builders/judge.ts';
import { imageLocality } from './image-locality.ts';

const mib = 1024 ** 2;
const having = (name: string, images: Record<string, number>) =>
  node(name)
    .with((each) => {
      each.status!.images = Object.entries(images).map(([image, size]) => ({ names: [image], sizeBytes: size * mib }));
    })
    .build();
const running = (...images: string[]) =>
  images.reduce((builder, image, i) => builder.container(`c${i}`, { image }), pod('p')).build();
const scoresOf = (images: string[], nodes: Record<string, Record<string, number>>) =>
  judge(imageLocality, {
    pod: running(...images),
    nodes: Object.entries(nodes).map(([name, present]) => having(name, present)),
  }).scores;

describe('ImageLocality', () => {
  it.each<[string, number, number]>([
    ['a small image', 40, 0],
    ['an image at the threshold', 46, 0],
    ['half of what counts', 1_023, 50],
    ['a large image', 2_000, 100],
    ['an image beyond what counts', 9_000, 100],
  ])('scores %s of which half of the nodes have a copy', (_, size, expected) => {
    const scores = scoresOf(['web:1'], { has: { 'web:1': size }, lacks: {} });
    expect(scores.has).toBeCloseTo(expected, 6);
    expect(scores.lacks).toBe(0);
  });

  it('counts a size by the part of the nodes that have the image, so that one node with a new image does not get every pod', () => {
    const nodes = { a: { 'web:1': 600 }, b: {}, c: {}, d: {} };
    expect(scoresOf(['web:1'], { ...nodes, b: { 'web:1': 600 } }).a).toBeGreaterThan(scoresOf(['web:1'], nodes).a!);
  });

  it('adds up the images of all containers, and wants more for the full score when there are more', () => {
    const scores = scoresOf(['web:1', 'db:1'], { both: { 'web:1': 1_000, 'db:1': 1_000 }, web: { 'web:1': 1_000 }, none: {} });
    expect(scores.both).toBeGreaterThan(scores.web!);
    expect(scores.web).toBeGreaterThan(0);
    expect(scores.both).toBeLessThan(100);
  });

  it.each(['web', 'web:latest', 'docker.io/library/web', 'docker.io/web:latest', 'index.docker.io/library/web:latest'])(
    'knows an image by any of its names: %s',
    (image) => {
      expect(scoresOf([image], { has: { 'web:latest': 1_000 }, lacks: {} }).has).toBeGreaterThan(0);
    },
  );

  it.each([
    ['is on no node', { a: {}, b: {} }],
    ['is on every node', { a: { 'web:1': 1_000 }, b: { 'web:1': 1_000 } }],
  ])('has no say when the image %s', (_, nodes) => {
    expect(scoresOf(['web:1'], nodes)).toEqual({});
  });
});

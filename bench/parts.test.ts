import { expect, it } from 'vitest';
import { type Figure, note } from './figure.ts';
import { type Parts, runParts } from './parts.ts';

function threeParts() {
  const ran: string[] = [];
  const part = (name: string) => (_say: unknown, option?: string) => {
    ran.push(option === undefined ? name : `${name} with ${option}`);
    return Promise.resolve<Figure[]>([note('speed', 1, 's')]);
  };
  const parts: Parts = {
    name: 'agent',
    parts: { pods: part('pods'), running: part('running'), churn: part('churn') },
    onlyNamed: ['churn'],
  };
  return { ran, run: (...words: string[]) => runParts(parts, () => {}, words) };
}

it.each([
  ['all parts but the long ones when none is named', [], ['pods', 'running']],
  ['only the named parts, in their own order', ['running', 'pods'], ['pods', 'running']],
  ['a long part when it is named, with what stands behind "="', ['churn=5'], ['churn with 5']],
])('runs %s', async (_title, words, expected) => {
  const { ran, run } = threeParts();
  await run(...words);
  expect(ran).toEqual(expected);
});

it('puts the name of the part before the name of each figure', async () => {
  expect((await threeParts().run('pods')).map((figure) => figure.name)).toEqual(['pods: speed']);
});

it('refuses a part that there is not, before anything runs', async () => {
  const { ran, run } = threeParts();
  await expect(run('pods', 'speed=3')).rejects.toThrow('agent has no part "speed"; there are pods, running, churn');
  expect(ran).toEqual([]);
});

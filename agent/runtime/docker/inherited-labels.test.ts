import { expect, it } from 'vitest';
import type { ContainerIdentity } from '../runtime.ts';
import { RuntimeError } from '../runtime-error.ts';
import { createEngine, type Engine, type EngineCall } from './engine.ts';
import { createInventory } from './inventory.ts';
import { engineName, labelsOf } from './labels.ts';

const identity: ContainerIdentity = {
  ...{ podUid: 'u', podName: 'web', podNamespace: 'default', containerName: 'app' },
  ...{ attempt: 0, specHash: 'abc', gracePeriodSeconds: 7 },
};
const labels = labelsOf('n1', identity);
const own = `/${engineName(identity)}`;

/** An engine that has one container of this name, whose image has these labels; undefined: no image any more. */
function engineWith(name: string, imageLabels: Readonly<Record<string, string>> | undefined) {
  const paths: string[] = [];
  const entry = { Id: 'c1', Names: [name], Image: 'app', ImageID: 'sha256:1', Created: 1, State: 'removing', Labels: labels };
  const engine: Engine = {
    ...createEngine({ socketPath: '/nowhere' }),
    call: async <T>({ path }: EngineCall) => {
      paths.push(path);
      if (path === '/containers/json') return [entry] as T;
      if (!imageLabels) throw new RuntimeError('image-not-found', 'gone');
      return { Config: { Labels: imageLabels } } as T;
    },
  };
  const inventory = createInventory(engine, 'n1', { oomKills: { has: () => false } });
  return { paths, list: async () => (await inventory.list()).map(({ id }) => id) };
}

it.each([
  ['run by others from an image committed from a container of the agent', 'eager_turing', labels, []],
  ['run by others from an image that brings the label of the node', 'db', { 'io.berth.node': 'n1' }, []],
  ['renamed, from an image with the label of another node', 'mine', { 'io.berth.node': 'n2' }, ['c1']],
  ['renamed, from an image without labels', 'mine', {}, ['c1']],
  ['renamed, whose image is gone', 'mine', undefined, ['c1']],
])('a container %s is listed as its image tells', async (_, name, imageLabels, expected) => {
  const { list, paths } = engineWith(`/${name}`, imageLabels);
  expect(await list()).toEqual(expected);
  expect(await list()).toEqual(expected);
  expect(paths.filter((path) => path.startsWith('/images/'))).toHaveLength(1);
});

it.each([
  ['the name that the agent gave it', own],
  ['the name that the agent gave it when another had that', `${own}_m1x2`],
])('lists a container with %s, whatever its image brings, and asks for no image', async (_, name) => {
  const { list, paths } = engineWith(name, labels);
  expect(await list()).toEqual(['c1']);
  expect(paths).toEqual(['/containers/json']);
});

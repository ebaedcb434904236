import { describe, expect, it } from 'vitest';
import { customKind } from '../../api/kinds/custom/custom-kind.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { type Answer, answer, type Lookup } from './answer.ts';
import type { Wanted } from './question.ts';

/** A kind of users, in two versions, and one that is called as one of Berth's. */
const custom = (plural: string, version: string): Kind => {
  const names = { kind: 'Toy', plural, singular: plural.slice(0, -1), shortNames: [`${plural[0]}y`] };
  return customKind({ spec: { group: 'g.io', scope: 'Namespaced', names } }, { name: version });
};
const schema = { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'string' } } } } };

const lookup: Lookup = {
  kinds: async () => [custom('toys', 'v2'), custom('toys', 'v1'), custom('ingresses', 'v1')],
  newestKinds: () => lookup.kinds(),
  schema: async ({ apiVersion }) => (apiVersion === 'g.io/v2' ? schema : undefined),
  contexts: async () => ['local', 'far'],
  plugins: async () => ['foo', 'bar-baz'],
  names: async (kind) =>
    ({ Toy: ['bear'], Pod: ['web', 'worker', 'db'], Node: ['n1'], Namespace: ['default', 'kube-system'] })[kind.kind] ?? [],
  containers: async (of) => (of === 'pod/web' ? ['main', 'side'] : []),
};

async function answered(wanted: Wanted, current = '', prefix = ''): Promise<Answer> {
  return await answer({ wanted, current, prefix, flags: new Map() }, lookup);
}

const words = async (wanted: Wanted, current = '', prefix = ''): Promise<string[]> =>
  (await answered(wanted, current, prefix)).candidates.map(({ word }) => word);

const resource = (...before: string[]): Wanted => ({ type: 'resource', before });

describe('an answer', () => {
  it('has types, also several of them, and short names when nothing else begins so', async () => {
    expect(await words(resource(), 'no')).toEqual(['nodes', 'nodemetrics', 'nodenetworks']);
    expect(await words(resource(), 'netw')).toEqual(['networkpolicies']);
    expect(await words(resource(), 'netp')).toEqual(['netpol']);
    expect(await words(resource(), 'poda')).toEqual(['podaddressslices']);
    expect(await words(resource(), 'pods,sec')).toEqual(['pods,secrets']);
    expect(await words(resource(), 'cm')).toEqual(['cm']);
    expect(await words(resource())).toContain('configmaps');
  });

  it('has the types that a command is for', async () => {
    const wanted: Wanted = { type: 'resource', before: [], kinds: ['Deployment', 'DaemonSet'] };
    expect(await words(wanted)).toEqual(['deployments', 'daemonsets']);
    expect(await words(wanted, 'ds')).toEqual(['ds']);
    expect(await words(wanted, 'po')).toEqual([]);
    expect(await words({ ...wanted, before: ['deployment/web'] })).toEqual(['deployment/', 'daemonset/']);
  });

  it('has plugins where a command may stand', async () => {
    expect(await words({ type: 'command', words: [{ word: 'get' }] })).toEqual(['get', 'foo', 'bar-baz']);
    expect(await words({ type: 'words', words: [{ word: 'get' }] })).toEqual(['get']);
  });

  it('has names of the type that stands there, but those that stand there too', async () => {
    expect(await words(resource('pods'), 'w')).toEqual(['web', 'worker']);
    expect(await words(resource('po', 'web'), 'w')).toEqual(['worker']);
    expect(await words(resource('things'))).toEqual([]);
  });

  it('completes TYPE/NAME when the word begins so', async () => {
    expect(await words(resource(), 'po/w')).toEqual(['po/web', 'po/worker']);
    expect(await words({ type: 'object', kind: 'Pod', before: [] }, 'pod/d')).toEqual(['pod/db']);
    expect(await answered(resource('pod/web'), 'nod')).toMatchObject({
      candidates: [
        { word: 'node/', description: 'Node' },
        { word: 'nodemetrics/', description: 'NodeMetrics' },
        { word: 'nodenetwork/', description: 'NodeNetwork' },
      ],
      glued: true,
      files: false,
    });
    expect(await words(resource(), 'things/')).toEqual([]);
  });

  it('has what has pods beside pods, and leaves no space behind it alone', async () => {
    const wanted: Wanted = { type: 'object', kind: 'Pod', before: [], owners: ['Deployment', 'Service'] };
    expect(await words(wanted)).toEqual(['web', 'worker', 'db', 'deployment/', 'service/']);
    expect((await answered(wanted, 'd')).glued).toBe(false);
    expect(await answered(wanted, 'dep')).toMatchObject({
      candidates: [{ word: 'deployment/', description: 'Deployment' }],
      glued: true,
      files: false,
    });
    expect((await answered(wanted, 'nothing')).glued).toBe(false);
  });

  it('has containers, contexts, and fields with those below them', async () => {
    expect(await words({ type: 'container', pod: 'pod/web' }, 's')).toEqual(['side']);
    expect(await words({ type: 'container', pod: '' })).toEqual([]);
    expect(await words({ type: 'component' })).toEqual(['server', 'agent/n1']);
    expect(await words({ type: 'context' })).toEqual(['local', 'far']);
    expect(await words({ type: 'field' }, 'pod.spec.cont')).toEqual(['pod.spec.containers']);
    expect(await words({ type: 'field' }, 'pod.spec.nothing.')).toEqual([]);
    expect((await answered({ type: 'field' }, 'lea')).glued).toBe(true);
  });

  it('has the kinds that users added, with their names and fields', async () => {
    expect(await words(resource(), 'to')).toEqual(['toys']);
    expect(await words(resource(), 'ing')).toEqual(['ingresses', 'ingressclasses', 'ingresses.g.io']);
    expect(await words(resource('toys'))).toEqual(['bear']);
    expect(await words(resource('toys.g.io'))).toEqual(['bear']);
    expect(await words(resource(), 'ty/')).toEqual(['ty/bear']);
    expect(await words(resource('pod/web'), 'to')).toEqual(['toy/']);
    expect(await words({ type: 'resource', before: [], kinds: ['Deployment'] }, 'to')).toEqual([]);
    expect(await words({ type: 'field' }, 'to')).toEqual(['toy']);
    expect(await words({ type: 'field' }, 'toy.')).toEqual(['toy.apiVersion', 'toy.kind', 'toy.metadata', 'toy.spec']);
    expect(await words({ type: 'field' }, 'ty.spec.')).toEqual(['ty.spec.size']);
    expect(await words({ type: 'field' }, 'toys.spec.none.')).toEqual([]);
  });

  it('asks for the newest kinds only where those of before have nothing that fits', async () => {
    let asked = 0;
    const newestKinds = async () => {
      asked++;
      return [custom('zebras', 'v1')];
    };
    const older = { ...lookup, newestKinds };
    const typed = async (current: string, ...before: string[]) => {
      const { candidates } = await answer({ wanted: resource(...before), current, prefix: '', flags: new Map() }, older);
      return [asked, ...candidates.map(({ word }) => word)];
    };
    expect(await typed('to')).toEqual([0, 'toys']);
    expect(await typed('', 'toys')).toEqual([0, 'bear']);
    expect(await typed('zeb')).toEqual([1, 'zebras']);
    expect(await typed('', 'zebras')).toEqual([2, 'bear']);
  });

  it('has the fields below the metadata of every kind', async () => {
    expect(await words({ type: 'field' }, 'pod.metadata.na')).toEqual(['pod.metadata.name', 'pod.metadata.namespace']);
    expect(await words({ type: 'field' }, 'toy.metadata.na')).toEqual(['toy.metadata.name', 'toy.metadata.namespace']);
    const owner = await words({ type: 'field' }, 'toys.metadata.ownerReferences[].');
    expect(owner).toContain('toys.metadata.ownerReferences[].blockOwnerDeletion');
  });

  it('repeats what stands before it in the same word', async () => {
    expect(await words({ type: 'object', kind: 'Namespace', before: [] }, 'ku', '--namespace=')).toEqual([
      '--namespace=kube-system',
    ]);
  });

  it('leaves files to the shell', async () => {
    expect(await answered({ type: 'file' }, 'a')).toMatchObject({ candidates: [], glued: false, files: true });
  });
});

import { describe, expect, it } from 'vitest';
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  Quantity,
} from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { limitRangeRules } from './limit-range.ts';

type Texts = Record<string, string>;
type Item = { type: string } & { [K in Exclude<keyof LimitRangeItem, 'type'>]?: Texts };

const quantities = (texts: Texts): Record<string, Quantity> =>
  Object.fromEntries(Object.entries(texts).map(([name, string]) => [name, { string }]));
const texts = (amounts: Readonly<Record<string, Quantity>> = {}): Texts =>
  Object.fromEntries(Object.entries(amounts).map(([name, { string = '' }]) => [name, string]));

function range(...items: Item[]): LimitRange {
  const limits = items.map(({ type, ...parts }) => ({
    type,
    ...Object.fromEntries(Object.entries(parts).map(([part, amounts]) => [part, quantities(amounts)])),
  }));
  return { metadata: { name: 'l', namespace: 'team' }, spec: { limits } };
}

const container = (name: string, requests: Texts = {}, limits: Texts = {}, more: Container = {}): Container => ({
  name,
  resources: {
    ...(Object.keys(requests).length > 0 && { requests: quantities(requests) }),
    ...(Object.keys(limits).length > 0 && { limits: quantities(limits) }),
  },
  ...more,
});

const podOf = (spec: PodSpec): Pod => ({ metadata: { name: 'web', namespace: 'team' }, spec, status: {} });

async function admit(pod: Pod, ...ranges: LimitRange[]): Promise<Pod> {
  await limitRangeRules(async () => ranges).create(kindNamed('Pod'), pod);
  return pod;
}

/** What stands behind "is forbidden: ". */
const refusal = async (spec: PodSpec, ...items: Item[]): Promise<string> => {
  const error = await admit(podOf(spec), range(...items)).then(
    () => 'admitted',
    (thrown: Error) => thrown,
  );
  if (typeof error === 'string') return error;
  expect(error).toMatchObject({ code: 'PERMISSION_DENIED' });
  return error.message.replace(/^pods "web" is forbidden: /, '');
};

describe('a container that says nothing', () => {
  const defaults: Item = {
    type: 'Container',
    default: { cpu: '1', memory: '1Gi' },
    defaultRequest: { cpu: '100m', memory: '64Mi' },
  };

  it('gets requests and limits, and the pod tells so', async () => {
    const pod = await admit(podOf({ containers: [container('c')], initContainers: [container('i')] }), range(defaults));
    for (const each of [pod.spec!.containers![0]!, pod.spec!.initContainers![0]!]) {
      expect(texts(each.resources?.requests)).toEqual({ cpu: '100m', memory: '64Mi' });
      expect(texts(each.resources?.limits)).toEqual({ cpu: '1', memory: '1Gi' });
    }
    expect(pod.metadata?.annotations).toEqual({
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; ' +
        'cpu, memory request for init container i; cpu, memory limit for init container i',
    });
    expect(pod.status?.qosClass).toBe('Burstable');
  });

  it('gets only what is missing, from the first limit range that has it', async () => {
    const second = range({ type: 'Container', default: { cpu: '4', 'example.com/gpu': '1' } });
    const pod = await admit(podOf({ containers: [container('c', { cpu: '200m' }, { cpu: '2' })] }), range(defaults), second);
    const [{ resources } = {}] = pod.spec!.containers!;
    expect(texts(resources?.requests)).toEqual({ cpu: '200m', memory: '64Mi' });
    expect(texts(resources?.limits)).toEqual({ cpu: '2', memory: '1Gi', 'example.com/gpu': '1' });
    expect(pod.metadata?.annotations?.['kubernetes.io/limit-ranger']).toBe(
      'LimitRanger plugin set: example.com/gpu limit for container c',
    );
  });

  it('stays as it is, and the pod without a note, where limit ranges have no defaults', async () => {
    const pod = await admit(podOf({ containers: [container('c')] }), range({ type: 'Pod', min: {} }));
    expect(pod.spec?.containers).toEqual([container('c')]);
    expect(pod.metadata?.annotations).toBeUndefined();
  });
});

describe('a pod is refused because', () => {
  const two = { containers: [container('a', { cpu: '1' }, { cpu: '1' }), container('b', { cpu: '1500m' }, { cpu: '2' })] };
  it.each<[string, PodSpec, Item, string]>([
    [
      'a limit is above the maximum',
      { containers: [container('c', { cpu: '1' }, { cpu: '3000m' })] },
      { type: 'Container', max: { cpu: '2' } },
      'maximum cpu usage per Container is 2, but limit is 3',
    ],
    [
      'a request is above the maximum',
      { containers: [container('c', { cpu: '3' }, { cpu: '2' })] },
      { type: 'Container', max: { cpu: '2' } },
      'maximum cpu usage per Container is 2, but request is 3',
    ],
    [
      'there is a maximum and no limit',
      { containers: [container('c', { cpu: '1' })] },
      { type: 'Container', max: { cpu: '2' } },
      'maximum cpu usage per Container is 2.  No limit is specified',
    ],
    [
      'a request is below the minimum',
      { containers: [container('c', { memory: '32Mi' })] },
      { type: 'Container', min: { memory: '64Mi' } },
      'minimum memory usage per Container is 64Mi, but request is 32Mi',
    ],
    [
      'a limit is below the minimum',
      { containers: [container('c', { memory: '64Mi' }, { memory: '32Mi' })] },
      { type: 'Container', min: { memory: '64Mi' } },
      'minimum memory usage per Container is 64Mi, but limit is 32Mi',
    ],
    [
      'there is a minimum and no request',
      { containers: [container('c')] },
      { type: 'Container', min: { memory: '64Mi' } },
      'minimum memory usage per Container is 64Mi.  No request is specified',
    ],
    [
      'the limit is too many times the request',
      { containers: [container('c', { cpu: '300m' }, { cpu: '1' })] },
      { type: 'Container', maxLimitRequestRatio: { cpu: '2.5' } },
      'cpu max limit to request ratio per Container is 2500m, but provided ratio is 3.333333',
    ],
    [
      'a ratio needs a request',
      { containers: [container('c', {}, { cpu: '1' })] },
      { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
      'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
    ],
    [
      'a ratio needs a limit',
      { containers: [container('c', { cpu: '1' })] },
      { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
      'cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0',
    ],
    [
      'an init container is no exception',
      { containers: [], initContainers: [container('i', { cpu: '1' }, { cpu: '3' })] },
      { type: 'Container', max: { cpu: '2' } },
      'maximum cpu usage per Container is 2, but limit is 3',
    ],
    [
      'its containers take too much together',
      two,
      { type: 'Pod', max: { cpu: '2500m' } },
      'maximum cpu usage per Pod is 2500m, but limit is 3',
    ],
    [
      'its containers take too little together',
      two,
      { type: 'Pod', min: { cpu: '4' } },
      'minimum cpu usage per Pod is 4, but request is 2500m',
    ],
    [
      'the ratio of the whole is too large',
      { containers: [container('c', { memory: '64Mi' }, { memory: '256Mi' })] },
      { type: 'Pod', maxLimitRequestRatio: { memory: '2' } },
      'memory max limit to request ratio per Pod is 2, but provided ratio is 4.000000',
    ],
    [
      'of several reasons, and all are told',
      { containers: [container('c', { cpu: '3', memory: '1Gi' }, { cpu: '3', memory: '4Gi' })] },
      { type: 'Container', max: { cpu: '2', memory: '2Gi' } },
      '[maximum cpu usage per Container is 2, but limit is 3, maximum memory usage per Container is 2Gi, but limit is 4Gi]',
    ],
  ])('%s', async (_title, spec, item, message) => expect(await refusal(spec, item)).toBe(message));
});

describe('a pod is admitted', () => {
  it.each<[string, PodSpec, Item]>([
    [
      'at the very bounds',
      { containers: [container('c', { cpu: '1' }, { cpu: '2' })] },
      { type: 'Container', min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '2' } },
    ],
    [
      'with quantities that cannot be read, which validation refuses',
      { containers: [container('c', { cpu: 'much' })] },
      { type: 'Container', max: { cpu: '1' } },
    ],
    ['whatever claims may ask for', { containers: [container('c')] }, { type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }],
  ])('%s', async (_title, spec, item) => expect(await refusal(spec, item)).toBe('admitted'));

  it('where there is no limit range', async () => {
    const rules = limitRangeRules(async () => undefined);
    const pod = podOf({ containers: [container('c')] });
    await rules.create(kindNamed('Pod'), pod);
    expect(pod).toEqual(podOf({ containers: [container('c')] }));
  });
});

describe('a change', () => {
  const most = limitRangeRules(async () => [
    range({ type: 'Container', max: { cpu: '2' } }, { type: 'PersistentVolumeClaim', max: { storage: '5Gi' } }),
  ]);
  const limited = (cpu: string, labels: Texts = {}): Pod => ({
    ...podOf({ containers: [container('c', { cpu }, { cpu })] }),
    metadata: { name: 'web', namespace: 'team', labels },
  });
  const change = (next: Pod, previous: Pod) => most.update!(kindNamed('Pod'), next, previous);

  it('of a pod is judged when it asks for something else, and gets nothing', async () => {
    await expect(change(limited('3'), limited('1'))).rejects.toThrow('maximum cpu usage per Container is 2, but limit is 3');
    await expect(change(limited('2'), limited('1'))).resolves.toBeUndefined();
    const grown = limited('1');
    grown.spec!.containers![0]!.resources!.requests!.memory = { string: '1Gi' };
    await change(grown, limited('1'));
    expect(texts(grown.spec!.containers![0]!.resources?.limits)).toEqual({ cpu: '1' });
  });

  it('that leaves an older pod above a bound as it is goes through', async () => {
    await expect(change(limited('3', { a: 'b' }), limited('3'))).resolves.toBeUndefined();
    const deleted = limited('1');
    deleted.metadata!.deletionTimestamp = { seconds: 1 };
    await expect(change(limited('3'), deleted)).resolves.toBeUndefined();
  });

  it('of a claim is judged by what it asks for', async () => {
    const claim = (storage: string): PersistentVolumeClaim => ({
      metadata: { name: 'data', namespace: 'team' },
      spec: { resources: { requests: quantities({ storage }) } },
    });
    const kind = kindNamed('PersistentVolumeClaim');
    await expect(most.update!(kind, claim('10Gi'), claim('1Gi'))).rejects.toThrow(
      'persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi',
    );
    await expect(most.create(kind, claim('10Gi'))).rejects.toThrow('but request is 10Gi');
    await expect(most.create(kind, claim('5Gi'))).resolves.toBeUndefined();
    const least = limitRangeRules(async () => [range({ type: 'PersistentVolumeClaim', min: { storage: '1Gi' } })]);
    await expect(least.create(kind, claim('500Mi'))).rejects.toThrow(
      'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi',
    );
  });
});

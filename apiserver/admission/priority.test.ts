import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec, PriorityClass } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { priorityRules } from './priority.ts';

const high: PriorityClass = { metadata: { name: 'high' }, value: 1000, preemptionPolicy: 'Never' };
const usual: PriorityClass = {
  metadata: { name: 'usual' },
  value: 50,
  preemptionPolicy: 'PreemptLowerPriority',
  globalDefault: true,
};

function rulesOver(...classes: PriorityClass[]) {
  const get = async (name: string) => classes.find(({ metadata }) => metadata?.name === name);
  return priorityRules({ get, list: async () => classes });
}

async function admit(spec: PodSpec, ...classes: PriorityClass[]): Promise<PodSpec> {
  const pod: Pod = { metadata: { name: 'web' }, spec };
  await rulesOver(...classes).create(kindNamed('Pod'), pod);
  return pod.spec!;
}

describe('a new pod', () => {
  it('has priority 0 and may preempt when no class says otherwise', async () => {
    expect(await admit({}, high)).toEqual({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
  });

  it('gets priority and preemption policy of the class that it names', async () => {
    const wanted = { priorityClassName: 'high', priority: 1000, preemptionPolicy: 'Never' };
    expect(await admit({ priorityClassName: 'high' }, high, usual)).toEqual(wanted);
  });

  it('gets those of the default class, and its name, when it names none', async () => {
    const wanted = { priorityClassName: 'usual', priority: 50, preemptionPolicy: 'PreemptLowerPriority' };
    expect(await admit({}, high, usual)).toEqual(wanted);
    expect(await admit({ priorityClassName: '' }, high, usual)).toEqual(wanted);
  });

  it('gets the lowest of several defaults, should two have come at once', async () => {
    expect((await admit({}, { ...high, globalDefault: true }, usual)).priority).toBe(50);
  });

  it('may say the same itself', async () => {
    const spec = { priorityClassName: 'high', priority: 1000, preemptionPolicy: 'Never' };
    expect(await admit({ ...spec }, high)).toEqual(spec);
  });

  it.each<[string, PodSpec, string]>([
    ['names a class that does not exist', { priorityClassName: 'none' }, 'no PriorityClass with name none was found'],
    ['says another priority than its class', { priorityClassName: 'high', priority: 5 }, '(5) must not be provided in pod spec'],
    ['says a priority and names no class', { priority: 5 }, 'computed 0 from the given PriorityClass name'],
    [
      'says another preemption policy than its class',
      { priorityClassName: 'high', preemptionPolicy: 'PreemptLowerPriority' },
      'computed Never from the given PriorityClass name',
    ],
  ])('is refused when it %s', async (_title, spec, words) => {
    const refused = admit(spec, high);
    await expect(refused).rejects.toMatchObject({ code: 'PERMISSION_DENIED', reason: 'Forbidden' });
    await expect(refused).rejects.toThrow(/^pods "web" is forbidden: /);
    await expect(refused).rejects.toThrow(words);
  });
});

describe('the classes of the system', () => {
  const critical: PriorityClass = { metadata: { name: 'system-cluster-critical' }, value: 2_000_000_000 };
  const classes = { get: async () => critical, list: async () => [critical] };
  const admitIn = async (namespace: string, options = {}, more: Pod['metadata'] = {}, spec: PodSpec = {}) =>
    priorityRules(classes, options).create(kindNamed('Pod'), {
      metadata: { namespace, name: 'web', ...more },
      spec: { priorityClassName: 'system-cluster-critical', ...spec },
    } as Pod);

  it('are for pods of kube-system, and with the same value said for no others either', async () => {
    await admitIn('kube-system');
    const words =
      'pods "web" is forbidden: pods with the priority class system-cluster-critical are only permitted in namespace ' +
      'kube-system (berth server --system-priority-namespaces)';
    await expect(admitIn('team')).rejects.toMatchObject({ code: 'PERMISSION_DENIED', message: words });
    await expect(admitIn('team', {}, {}, { priority: 2_000_000_000 })).rejects.toThrow(words);
  });

  it('are for those of the namespaces that the server was told', async () => {
    await admitIn('team', { systemPriorityNamespaces: ['infra', 'team'] });
    await admitIn('team', { systemPriorityNamespaces: ['*'] });
    await expect(admitIn('team', { systemPriorityNamespaces: ['infra'] })).rejects.toThrow('kube-system, infra');
  });

  it('are told of by the mirror of a static pod, which runs already', async () => {
    await admitIn('team', {}, { annotations: { 'kubernetes.io/config.mirror': 'x' } });
  });
});

describe('the default class', () => {
  const kind = kindNamed('PriorityClass');
  const rules = rulesOver(high, usual);

  it('is one: a second is refused, when it is made and when a class becomes it', async () => {
    const second = { ...high, globalDefault: true };
    const words = 'priorityclasses.scheduling.k8s.io "high" is forbidden: PriorityClass usual is already marked as default';
    await expect(rules.create(kind, second)).rejects.toThrow(words);
    await expect(rules.update!(kind, second, high)).rejects.toThrow(words);
  });

  it('may be written again, and other classes and kinds are no concern', async () => {
    await rules.update!(kind, { ...usual }, usual);
    await rules.create(kind, high);
    await rules.update!(kindNamed('ConfigMap'), { metadata: { name: 'x' } }, {});
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import type { NetworkPolicy, Pod } from '../../client/index.ts';
import { eventually } from '../e2e/installation.ts';
import { allows, type End } from '../fakes/policy-oracle.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { image } from './pod-churn.ts';
import { createPodDialer, type PodDialer } from './pod-dialer.ts';

// The cases of Kubernetes' own tests of network policies, from their description: pods a, b and c in the namespaces x,
// y and z on two hosts try all connections to each other, and each answer has to be what the policies say.
type Host = 'h1' | 'h2';
type Spec = NonNullable<NetworkPolicy['spec']>;
const namespaces = ['x', 'y', 'z'] as const;
const names = ['a', 'b', 'c'] as const;
const ports = [80, 81] as const;
const all = namespaces.flatMap((namespace) => names.map((name) => `${namespace}/${name}`));
const hostOf = (pod: string): Host => (all.indexOf(pod) % 2 === 0 ? 'h1' : 'h2');

let cluster: Cluster;
/** By "x/a". */
const ends = new Map<string, End>();
const dialers = new Map<string, PodDialer>();
const policies = new Map<string, NetworkPolicy>();

const must = async (host: Host, script: string): Promise<string> => {
  const { code, stdout, stderr } = await cluster.exec(host, 'sh', '-ec', script);
  if (code !== 0) throw new Error(`${script} on ${host} ended with ${code}: ${stderr}`);
  return stdout;
};

/** Port 80 has the name "serve-80", 81 "serve-81". */
const podOf = (namespace: string, name: string, host: Host): Pod => ({
  metadata: { namespace, name, labels: { pod: name } },
  spec: {
    nodeName: host,
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        ...{ name: 'main', image, imagePullPolicy: 'IfNotPresent' },
        command: ['sh', '-c', 'echo here >/index.html; httpd -p 81 -h /; exec httpd -f -p 80 -h /'],
        ports: ports.map((port) => ({ name: `serve-${port}`, containerPort: port })),
      },
    ],
  },
});

async function startPod(pod: Pod, patienceMs = 60_000): Promise<string> {
  const key = { namespace: pod.metadata?.namespace ?? '', name: pod.metadata?.name ?? '' };
  await cluster.client.pods.create(pod);
  return eventually(
    `${key.namespace}/${key.name} is ready`,
    async () => {
      const now = await cluster.client.pods.get(key);
      return isPodReady(now) ? now.status?.podIP : undefined;
    },
    patienceMs,
  );
}

/** A process that dials from a pod. */
async function dialerIn(host: Host, namespace: string, name: string): Promise<PodDialer> {
  const filters = [`pod.namespace=${namespace}`, `pod.name=${name}`, 'container.name=main'].map(
    (label) => `--filter label=io.berth.${label}`,
  );
  const pid = await must(host, `docker inspect --format '{{.State.Pid}}' $(docker ps -q ${filters.join(' ')})`);
  return createPodDialer(cluster, host, pid.trim());
}

/** "x/a>y/b:80" of all connections that succeed. All are tried at once, once each. */
async function connected(): Promise<Set<string>> {
  const places = new Map<string, string>();
  for (const [to, { address }] of ends) for (const port of ports) places.set(`${address}:${port}`, `${to}:${port}`);
  const open = await Promise.all(
    [...dialers].map(async ([from, dialer]) =>
      (await dialer.dial([...places.keys()])).map((place) => `${from}>${places.get(place)}`),
    ),
  );
  return new Set(open.flat());
}

function expected(): Set<string> {
  const open = new Set<string>();
  for (const [source, from] of ends)
    for (const [target, to] of ends)
      for (const port of ports)
        if (allows([...policies.values()], { from, to, protocol: 'TCP', port })) open.add(`${source}>${target}:${port}`);
  return open;
}

const differences = (found: Set<string>, wanted: Set<string>): string[] => [
  ...[...found].filter((each) => !wanted.has(each)).map((each) => `open: ${each}`),
  ...[...wanted].filter((each) => !found.has(each)).map((each) => `closed: ${each}`),
];

/** Waits until the change has come to both hosts; from then on no single connection may be wrong. */
async function verify(count?: number): Promise<void> {
  const wanted = expected();
  if (count !== undefined) expect(wanted.size, 'connections that the case describes').toBe(count);
  let wrong: string[] = differences(await connected(), wanted);
  if (wrong.length === 0) return;
  await eventually(
    'the policies are in force',
    async () => {
      wrong = differences(await connected(), wanted);
      return wrong.length === 0 ? true : undefined;
    },
    30_000,
  ).catch((error: unknown) => {
    throw new Error(`wrong connections: ${wrong.slice(0, 20).join(', ')}`, { cause: error });
  });
  expect(differences(await connected(), wanted)).toEqual([]);
}

async function put(namespace: string, name: string, spec: Spec): Promise<void> {
  const policy: NetworkPolicy = { metadata: { namespace, name }, spec };
  const isNew = !policies.has(`${namespace}/${name}`);
  policies.set(`${namespace}/${name}`, policy);
  if (isNew) await cluster.client.networkPolicies.create(policy);
  else await cluster.client.networkPolicies.update({ ...(await cluster.client.networkPolicies.get({ namespace, name })), spec });
}

async function remove(namespace: string, name: string): Promise<void> {
  policies.delete(`${namespace}/${name}`);
  await cluster.client.networkPolicies.delete({ namespace, name });
}

const everything = 9 * 9 * 2;
const podSelector = (pod: string) => ({ matchLabels: { pod } });
const namespaceSelector = (ns: string) => ({ matchLabels: { ns } });
const port = (intVal: number, endPort?: number) => ({ port: { type: 0, intVal }, ...(endPort && { endPort }) });
const ingressOf = (pod: string, ...ingress: NonNullable<Spec['ingress']>): Spec => ({
  ...{ podSelector: podSelector(pod), policyTypes: ['Ingress'], ingress },
});
const egressOf = (pod: string, ...egress: NonNullable<Spec['egress']>): Spec => ({
  ...{ podSelector: podSelector(pod), policyTypes: ['Egress'], egress },
});
const addressOf = (pod: string): string => ends.get(pod)?.address ?? '';

beforeAll(async () => {
  cluster = await createCluster(2);
  for (const ns of namespaces) await cluster.client.namespaces.create({ metadata: { name: ns, labels: { ns } } });
  await Promise.all(
    all.map(async (pod) => {
      const [namespace = '', name = ''] = pod.split('/');
      const address = await startPod(podOf(namespace, name, hostOf(pod)), 180_000);
      const named = ports.map((containerPort) => ({ name: `serve-${containerPort}`, protocol: 'TCP', containerPort }));
      const namespaceLabels = { ns: namespace, 'kubernetes.io/metadata.name': namespace };
      ends.set(pod, { address, pod: { namespace, labels: { pod: name }, namespaceLabels, ports: named } });
      dialers.set(pod, await dialerIn(hostOf(pod), namespace, name));
    }),
  );
});
afterAll(async () => {
  for (const dialer of dialers.values()) dialer.close();
  await cluster?.close();
});

describe('connections between nine pods', () => {
  afterEach(async () => {
    for (const key of policies.keys()) {
      const [namespace = '', name = ''] = key.split('/');
      await remove(namespace, name);
    }
  });

  it('are all open without a policy', () => verify(everything));

  it.each<[string, string, Spec, number]>([
    ['default deny of ingress', 'x', { podSelector: {}, policyTypes: ['Ingress'] }, everything - 3 * 8 * 2],
    ['default deny of egress', 'x', { podSelector: {}, policyTypes: ['Egress'] }, everything - 3 * 8 * 2],
    ['default deny of both', 'x', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }, (6 * 6 + 3) * 2],
    ['a rule that allows all', 'x', { podSelector: {}, policyTypes: ['Ingress'], ingress: [{}] }, everything],
    ['an egress rule that allows all', 'x', { podSelector: {}, policyTypes: ['Egress'], egress: [{}] }, everything],
    ['pods of the same namespace', 'x', ingressOf('a', { from: [{ podSelector: podSelector('b') }] }), everything - 7 * 2],
    [
      'pods chosen by an expression',
      'x',
      ingressOf('a', { from: [{ podSelector: { matchExpressions: [{ key: 'pod', operator: 'NotIn', values: ['c'] }] } }] }),
      everything - 7 * 2,
    ],
    [
      'all pods of namespaces',
      'x',
      ingressOf('a', { from: [{ namespaceSelector: namespaceSelector('y') }] }),
      everything - 5 * 2,
    ],
    [
      'a namespace by its name',
      'x',
      ingressOf('a', { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'z' } } }] }),
      everything - 5 * 2,
    ],
    [
      'pods or namespaces',
      'x',
      ingressOf('a', { from: [{ podSelector: podSelector('b') }, { namespaceSelector: namespaceSelector('y') }] }),
      everything - 4 * 2,
    ],
    [
      'pods in namespaces',
      'x',
      ingressOf('a', { from: [{ podSelector: podSelector('b'), namespaceSelector: namespaceSelector('y') }] }),
      everything - 7 * 2,
    ],
    ['a port', 'x', ingressOf('a', { ports: [port(81)] }), everything - 8],
    ['a port from pods', 'x', ingressOf('a', { from: [{ namespaceSelector: {} }], ports: [port(81)] }), everything - 8],
    ['a range of ports', 'x', ingressOf('a', { ports: [port(70, 80)] }), everything - 8],
    ['a port by name', 'x', ingressOf('a', { ports: [{ port: { type: 1, strVal: 'serve-81' } }] }), everything - 8],
    ['a port that is not there', 'x', ingressOf('a', { ports: [{ port: { type: 1, strVal: 'none' } }] }), everything - 16],
    ['another protocol', 'x', ingressOf('a', { ports: [{ protocol: 'UDP' }] }), everything - 16],
    ['egress to pods', 'x', egressOf('a', { to: [{ namespaceSelector: namespaceSelector('y') }] }), everything - 5 * 2],
    [
      'egress to a port by name',
      'x',
      egressOf('a', { to: [{ namespaceSelector: {} }], ports: [{ port: { type: 1, strVal: 'serve-81' } }] }),
      everything - 8,
    ],
    ['egress to a port', 'x', egressOf('a', { ports: [port(80)] }), everything - 8],
  ])('are as the policy says with %s', async (_title, namespace, spec, count) => {
    await put(namespace, 'p', spec);
    await verify(count);
  });

  it('are as blocks of addresses say, without their holes', async () => {
    const hole = `${addressOf('y/b')}/32`;
    await put('x', 'in', ingressOf('a', { from: [{ ipBlock: { cidr: '10.42.0.0/16', except: [hole] } }] }));
    await verify(everything - 2);
    await put('x', 'out', egressOf('a', { to: [{ ipBlock: { cidr: hole } }] }));
    await verify(everything - 2 - 7 * 2);
  });

  it('need both ends', async () => {
    await put('x', 'out', egressOf('a', { to: [{ namespaceSelector: namespaceSelector('y') }] }));
    await put('y', 'in', ingressOf('b', { from: [{ podSelector: {} }] }));
    await verify(everything - 5 * 2 - 6 * 2);
  });

  it('add up over policies, and follow their changes and ends', async () => {
    await put('x', 'deny', { podSelector: {}, policyTypes: ['Ingress'] });
    await put('x', 'one', ingressOf('a', { from: [{ namespaceSelector: namespaceSelector('y') }], ports: [port(80)] }));
    await put('x', 'two', ingressOf('a', { from: [{ namespaceSelector: namespaceSelector('z') }], ports: [port(81)] }));
    await verify(everything - 24 * 2 + 6);
    await put('x', 'two', ingressOf('a', { from: [{ namespaceSelector: {} }], ports: [port(80), port(81)] }));
    await verify(everything - 16 * 2);
    await remove('x', 'deny');
    await verify(everything);
  });

  it('follow the labels of pods and of namespaces', async () => {
    const relabel = async (pod: string, label: string): Promise<void> => {
      const [namespace = '', name = ''] = pod.split('/');
      await cluster.client.pods.patch({ namespace, name, type: 'merge' }, { metadata: { labels: { pod: label } } });
      const end = ends.get(pod)!;
      ends.set(pod, { ...end, pod: { ...end.pod!, labels: { pod: label } } });
    };
    const relabelNamespace = async (ns: string): Promise<void> => {
      await cluster.client.namespaces.patch({ name: 'y', type: 'merge' }, { metadata: { labels: { ns } } });
      for (const [key, end] of ends)
        if (end.pod?.namespace === 'y')
          ends.set(key, { ...end, pod: { ...end.pod, namespaceLabels: { ...end.pod.namespaceLabels, ns } } });
    };
    await put(
      'x',
      'p',
      ingressOf('a', { from: [{ podSelector: podSelector('b') }, { namespaceSelector: namespaceSelector('y') }] }),
    );
    await verify(everything - 4 * 2);
    await relabel('x/b', 'other');
    await verify(everything - 5 * 2);
    await relabelNamespace('other');
    await verify(everything - 8 * 2);
    // The pod that the policy isolates.
    await relabel('x/a', 'other');
    await verify(everything);
    await relabel('x/a', 'a');
    await relabel('x/b', 'b');
    await relabelNamespace('y');
    await verify(everything - 4 * 2);
  });
});

describe('a default deny', () => {
  const deny = { namespace: 'z', name: 'deny' };
  beforeAll(async () => {
    await cluster.client.networkPolicies.create({
      metadata: deny,
      spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
    });
    policies.set('z/deny', { metadata: deny, spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] } });
    await verify();
  });

  /** A table is there a moment before packets pass through it: then it has the chain in_force. */
  const enforced = (withinMs: number): Promise<true> =>
    eventually(
      'the table of h2 is in force',
      async () => {
        const tables = (await must('h2', 'nft list chains inet')).split(/^table /m);
        return tables.some((table) => /^inet berthpolicy_/.test(table) && table.includes('in_force')) || undefined;
      },
      withinMs,
    );

  it('holds from the first packet of new pods, in both directions', async () => {
    const target = `http://${addressOf('x/a')}/index.html`;
    const first = `timeout 2 wget -qO- ${target} && echo "got out"; echo here >/index.html; exec httpd -f -p 80 -h /`;
    const names = ['new-0', 'new-1', 'new-2'];
    const pods = names.map((name) => podOf('z', name, 'h1'));
    for (const pod of pods) pod.spec!.containers![0]!.command = ['sh', '-c', first];
    // Tries to come in from before the pods have their links, on every address that they may get, to one whole round
    // after they are ready.
    const places = Array.from({ length: 39 }, (_, index) => `10.42.0.${index + 2}:80`);
    let isReady = false;
    const attempts = (async () => {
      const reached = new Set<string>();
      for (let isLast = false; !isLast; ) {
        isLast = isReady;
        for (const place of await dialers.get('x/b')!.dial(places, 500)) reached.add(place);
      }
      return reached;
    })();
    const addresses = await Promise.all(pods.map((pod) => startPod(pod))).finally(() => {
      isReady = true;
    });
    const reached = await attempts;
    for (const address of addresses) expect(reached).not.toContain(`${address}:80`);
    // The same way leads to pods that are open.
    expect(reached).toContain(`${addressOf('x/a')}:80`);
    for (const name of names) {
      expect((await cluster.berth('h1', 'logs', '-n', 'z', name)).stdout).not.toContain('got out');
      await cluster.client.pods.delete({ namespace: 'z', name }, { gracePeriodSeconds: 0 });
    }
  });

  it('lets pods resolve names, and nodes reach them', async () => {
    const service = { metadata: { namespace: 'x', name: 'web' }, spec: { selector: { pod: 'a' }, ports: [{ port: 80 }] } };
    const address = (await cluster.client.services.create(service)).spec?.clusterIP ?? 'none';
    await eventually('the name is known to pods that may connect to nothing', async () => {
      const { stdout } = await cluster.berth('h1', 'exec', '-n', 'z', 'a', '--', 'nslookup', 'web.x.svc.cluster.local');
      return stdout.includes(address) ? true : undefined;
    });
    for (const pod of ['z/a', 'z/b']) await must(hostOf(pod), `curl -sf --max-time 3 http://${addressOf(pod)}/index.html`);
  });

  it('stays in force while the agents are away and when they start again', async () => {
    await cluster.berth('h2', 'down');
    expect(differences(await connected(), expected())).toEqual([]);
    await cluster.berth('h2', 'join', '--detach');
    for (let round = 0; round < 3; round++) expect(differences(await connected(), expected())).toEqual([]);
  });

  it('is carried out by an agent that starts while the server is away', async () => {
    await cluster.berth('h2', 'down');
    await cluster.berth('h1', 'down');
    await must('h2', 'nft flush ruleset');
    const joined = cluster.berth('h2', 'join', '--detach');
    await enforced(30_000);
    expect(differences(await connected(), expected())).toEqual([]);
    await cluster.berth('h1', 'up', '--detach', '--advertise', '10.117.8.1');
    await joined;
    await verify();
  });

  it('is in force again within 5 s after nft flush ruleset', async () => {
    await must('h2', 'nft flush ruleset');
    await enforced(5_000);
    expect(differences(await connected(), expected())).toEqual([]);
  });

  it('leaves no table on a host that is purged', async () => {
    await cluster.berth('h2', 'down', '--purge', '--yes');
    expect(await must('h2', 'nft list tables')).not.toContain('berth');
  });
});

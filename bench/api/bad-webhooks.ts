import { setTimeout as delay } from 'node:timers/promises';
import { encodeMessage } from '../../api/codec/message.ts';
import { type Client, connect } from '../../client/index.ts';
import type { BenchServer } from '../berth.ts';
import { atLeast, type Figure, median, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { type BadHooks, startBadHooks } from './bad-hooks.ts';
import { type BadRule, badNamespace, badRules, createConfigMap } from './bad-rules.ts';
import { untilServed } from './definitions.ts';
import { type LoadTarget, loadTarget, runLoad } from './h2load.ts';
import { withApiServer } from './lean-connection.ts';

const ROUNDS = 5;
const CREATES = 4_000;
/** Of the other namespace; while so many wait, no further ones begin. */
const MOST_WAITING = 64;
const TICK_MS = 10;

/** Of what it is beside as many calls that nothing bad judges. */
const LEAST = 0.8;

const goodNamespace = 'good';

const request = encodeMessage('berth.meta.v1.ObjectWriteRequest', {
  kind: { apiVersion: 'v1', kind: 'ConfigMap' },
  namespace: goodNamespace,
  format: 'json',
  object: Buffer.from(JSON.stringify({ metadata: { generateName: 'one-' }, data: { key: 'x'.repeat(200) } })),
});

interface Round {
  readonly rate: number;
  readonly p99: number;
  /** All that the server's processor did meanwhile, for each create, in microseconds. */
  readonly cpu: number;
}

interface Bench {
  readonly server: BenchServer;
  readonly hooks: BadHooks;
  readonly good: LoadTarget;
  readonly bad: Client;
}

/**
 * Creates ConfigMaps in one namespace, 64 at once, while another user calls constantly in a namespace of its own, in
 * turn without and with a bad rule that judges those calls. The server's whole processor time is divided among the
 * creates: that is what the rule costs users whom it does not judge. The other user's pace is set in calls for each
 * second of that processor time, so that a slow or shared machine slows both alike.
 */
export function benchBadWebhooks(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (server) => {
    const hooks = await startBadHooks();
    const good = { ...loadTarget(server), token: await startTenant(server, goodNamespace) };
    const { address, ca } = server.admin;
    const bad = connect({ address, ca, token: await startTenant(server, badNamespace), userAgent: 'berth-bench' });
    try {
      const figures: Figure[] = [];
      for (const rule of badRules) figures.push(...(await compare({ server, hooks, good, bad }, rule, say)));
      return figures;
    } finally {
      bad.close();
      hooks.close();
    }
  });
}

async function compare(bench: Bench, rule: BadRule, say: (text: string) => void): Promise<Figure[]> {
  const rounds: { readonly plain: Round; readonly beside: Round }[] = [];
  for (let i = 0; i <= ROUNDS; i++) {
    const plain = await measure(bench, { ...rule, call: createConfigMap });
    await putInForce(bench, rule);
    const beside = await measure(bench, rule);
    await putAway(bench, rule);
    if (i > 0) rounds.push({ plain, beside });
  }
  const middle = (of: (round: (typeof rounds)[number]) => number): number => median(rounds.map(of));
  const [before, beside] = [middle((round) => round.plain.rate), middle((round) => round.beside.rate)];
  const [p99, plainP99] = [middle((round) => round.beside.p99), middle((round) => round.plain.p99)];
  const [cpu, plainCpu] = [middle((round) => round.beside.cpu), middle((round) => round.plain.cpu)];
  say(`${rule.name}: ${cpu.toFixed(0)} us of the server's processor for each create; without ${plainCpu.toFixed(0)} us`);
  say(
    `${rule.name}: ${beside.toFixed(0)}/s, p99 ${p99.toFixed(1)} ms; without ${before.toFixed(0)}/s, ${plainP99.toFixed(1)} ms`,
  );
  return [
    atLeast(
      `creates in a second of the server's processor, beside ${rule.name}, against without`,
      middle((round) => round.plain.cpu / round.beside.cpu),
      'x',
      LEAST,
    ),
    note(
      `creates in a second, beside ${rule.name}, against without`,
      middle((round) => round.beside.rate / round.plain.rate),
      'x',
    ),
    note(`99 of 100 of these creates are faster than, beside ${rule.name}`, p99, 'ms'),
    note(`99 of 100 are faster than, without ${rule.name}`, plainP99, 'ms'),
  ];
}

async function putInForce({ server, hooks, bad }: Bench, rule: BadRule): Promise<void> {
  for (const { kind, object } of rule.objects(hooks)) {
    await server.client.objects.create(kind, object);
    if (kind === 'CustomResourceDefinition') await untilServed(server, 'Pattern.bench.example.com');
  }
  const said = await rule.call(bad).then(
    () => '',
    (error: Error) => error.message,
  );
  if (!said.includes(rule.refused ?? '') || (rule.refused === undefined && said !== ''))
    throw new Error(`beside ${rule.name} a call was answered: ${said || 'it succeeded'}`);
}

async function putAway({ server, hooks }: Bench, rule: BadRule): Promise<void> {
  const { objects } = server.client;
  for (const { kind, object } of [...rule.objects(hooks)].reverse()) {
    const name = String((object.metadata as { readonly name: string }).name);
    await objects.delete(kind, { name });
    while (await objects.get(kind, { name }).catch(() => undefined)) await delay(20);
  }
  for (const namespace of [goodNamespace, badNamespace]) await objects.deleteCollection('ConfigMap', { namespace });
}

/** The creates while the bad namespace is called at its pace, which begins with them. */
async function measure({ good, bad }: Bench, { callsPerSecond, call }: BadRule): Promise<Round> {
  const under = new Set<Promise<unknown>>();
  const start = cpuSeconds([good.pid]);
  let called = 0;
  const timer = setInterval(() => {
    const due = 1 + (cpuSeconds([good.pid]) - start) * callsPerSecond;
    for (; called < due && under.size < MOST_WAITING; called++) {
      const one: Promise<unknown> = call(bad).catch(() => {});
      under.add(one);
      void one.then(() => under.delete(one));
    }
  }, TICK_MS);
  try {
    const load = { path: '/berth.meta.v1.Objects/Create', request, count: CREATES, hasTimes: true } as const;
    const { rate, p99, cpu } = await runLoad(good, load);
    return { rate, p99: p99!, cpu: cpu * 1e6 };
  } finally {
    clearInterval(timer);
    await Promise.all(under);
  }
}

/** A namespace and a user in it, who may create ConfigMaps, custom objects and definitions. Gives the user's token. */
async function startTenant({ client }: BenchServer, namespace: string): Promise<string> {
  const name = 'tenant';
  await client.objects.create('Namespace', { metadata: { name: namespace } });
  await client.objects.create('ServiceAccount', { metadata: { namespace, name } });
  await client.objects.create('ClusterRole', {
    metadata: { name: `bench-${namespace}` },
    rules: [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
      { apiGroups: ['bench.example.com'], resources: ['*'], verbs: ['create'] },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['create'] },
    ],
  });
  await client.objects.create('ClusterRoleBinding', {
    metadata: { name: `bench-${namespace}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `bench-${namespace}` },
    subjects: [{ kind: 'ServiceAccount', namespace, name }],
  });
  const { token = '' } = await client.serviceAccounts.createToken({ namespace, name }, {});
  return token;
}

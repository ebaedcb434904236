import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { badRequest, notFound } from '../../api/errors/index.ts';
import type {
  ListPlacementsRequest,
  Placement,
  PlacementAnswer,
  PlacementAudience,
  Pod,
  SimulateRequest,
  SimulateResponse,
  WhyRequest,
} from '../../api/generated/types.ts';
import { keyPrefixOf } from '../../api/kinds/identity.ts';
import { compareTimestamps } from '../../api/meta/time.ts';
import { defaultSchedulerName } from '../../api/meta/well-known.ts';
import type { Access } from '../authz/attributes.ts';
import type { AnyObject } from '../registry/any-object.ts';
import { imagineObject } from '../registry/create.ts';
import { decodeStrictly, requireSayable } from '../registry/decode.ts';
import type { Registry } from '../registry/registry.ts';
import { abortable } from '../tunnel/abortable.ts';
import type { CallContext } from '../verbs/call-context.ts';
import { CallWrite } from '../verbs/call-write.ts';
import type { PreparedCall, Reply } from '../verbs/prepared-call.ts';
import { placeOf } from '../watch/entry.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { serviceDefinition } from './definitions.ts';
import type { SchedulerLinks } from './scheduler-links.ts';
import { type Duplex, framesOf } from './tunnel/duplex.ts';

export const PLACEMENTS_SERVICE = 'berth.scheduling.v1.Placements';

const MOST_PODS = 1_000;
/** Between the pods of a simulation other calls have their turn after so long. */
const TURN_MS = 5;
const messages = 'berth.scheduling.v1';

/**
 * Questions about placements, handed on to the scheduler whose pods they are about. A caller that may read a pod may
 * ask why it is where it is; the answer names other pods and nodes only as far as the caller may list them.
 */
export function placementsService({ registry, links }: Deps, pipeline: CallPipeline) {
  const read = <T extends object>(message: string, request: Buffer): T =>
    decodeStrictly<T>(`${messages}.${message}`, request, 'request');
  return {
    definition: serviceDefinition(PLACEMENTS_SERVICE),
    implementation: {
      Why: pipeline.unary((request, call) => prepareWhy({ registry, links }, read<WhyRequest>('WhyRequest', request), call)),
      Simulate: pipeline.unary((request, call) =>
        prepareSimulation({ registry, links }, read<SimulateRequest>('SimulateRequest', request), call),
      ),
      List: pipeline.unary((request, call) => {
        call.authorize({ verb: 'list', kind: 'Placement', namespace: '', name: '' });
        const list = read<ListPlacementsRequest>('ListPlacementsRequest', request);
        const items = () => last(links, list, call.signal);
        return { run: async () => ({ bytes: encodeMessage(`${messages}.PlacementList`, { items: await items() }) }) };
      }),
      Serve: pipeline.duplex((call, context) => serve(links, call, context)),
    },
  };
}

interface Deps {
  readonly registry: Registry;
  readonly links: SchedulerLinks;
}

function prepareWhy(deps: Deps, request: WhyRequest, call: CallContext): PreparedCall {
  const { namespace = '', name = '' } = request;
  if (!namespace || !name) throw badRequest('name the pod and its namespace');
  call.authorize({ verb: 'get', kind: 'Pod', namespace, name });
  return { run: () => why(deps, request, call) };
}

async function why({ registry, links }: Deps, request: WhyRequest, call: CallContext): Promise<Reply> {
  const { namespace = '', name = '' } = request;
  const pods = registry.store('Pod');
  const entry = await pods.read({ namespace, name });
  if (!entry) throw notFound(pods.subject({ namespace, name }));
  const pod: Pod = pods.cache.decoder.decode(entry);
  const { explanation } = await links.ask(schedulerOf(pod), { why: request, audience: audienceOf(registry, call) }, call.signal);
  return { bytes: encodeMessage(`${messages}.Explanation`, explanation ?? {}) };
}

const schedulerOf = ({ spec }: Pod): string => spec?.schedulerName || defaultSchedulerName;

/** What the caller may list, by the roles of this moment. */
function audienceOf({ store }: Registry, { identity, authorizer }: CallContext): PlacementAudience {
  const lists = (kind: string, namespace = '') => authorizer.may(identity, { verb: 'list', kind, namespace, name: '' });
  const nodes = lists('Node');
  if (lists('Pod')) return { allPods: true, nodes };
  const { cache } = store('Namespace');
  const podNamespaces = cache
    .range(keyPrefixOf(cache.kind))
    .map(({ key }) => placeOf(key).name)
    .filter((name) => lists('Pod', name));
  return { podNamespaces, nodes };
}

function prepareSimulation(deps: Deps, request: SimulateRequest, call: CallContext): PreparedCall {
  const { pods = [] } = request;
  if (pods.length === 0) throw badRequest('name the pods to simulate');
  if (pods.length > MOST_PODS) throw badRequest(`${pods.length} pods are more than ${MOST_PODS}, the most of one simulation`);
  for (const pod of pods) call.authorize(accessTo(pod));
  return { run: () => simulate(deps, request, call) };
}

const accessTo = ({ metadata: { namespace = '', name = '' } = {} }: Pod): Access => ({
  verb: 'create',
  kind: 'Pod',
  namespace,
  name,
});

/** Pods of several schedulers are asked of each in turn: they do not see each other's. */
async function simulate({ registry, links }: Deps, request: SimulateRequest, call: CallContext): Promise<Reply> {
  const { pods: wanted = [], nodeLimit = 0 } = request;
  const pods: Pod[] = [];
  const warnings = new Set<string>();
  let turnEndsAt = performance.now() + TURN_MS;
  for (const pod of wanted) {
    pods.push(await completed({ registry, warn: (text) => warnings.add(text) }, pod, call));
    if (performance.now() < turnEndsAt) continue;
    await nextTurn();
    call.signal.throwIfAborted();
    turnEndsAt = performance.now() + TURN_MS;
  }
  const answers: SimulateResponse['pods'] = new Array(pods.length);
  const audience = audienceOf(registry, call);
  for (const name of new Set(pods.map(schedulerOf))) {
    const own = [...pods.entries()].filter(([, pod]) => schedulerOf(pod) === name);
    const question = { pods: own.map(([, pod]) => pod), nodeLimit };
    const { simulation } = await links.ask(name, { simulate: question, audience }, call.signal);
    for (const [at, [index]] of own.entries()) answers[index] = simulation?.pods?.[at] ?? {};
  }
  return { bytes: encodeMessage(`${messages}.SimulateResponse`, { pods: answers }), warnings: [...warnings] };
}

/** As a create would store it; a pod of the same name is no obstacle. */
async function completed(
  { registry, warn }: { readonly registry: Registry; warn(text: string): void },
  pod: Pod,
  call: CallContext,
): Promise<Pod> {
  const { name = '', generateName = '' } = pod.metadata ?? {};
  call.authorizer.authorizeCreate(call.identity, accessTo(pod), pod);
  const store = registry.store('Pod');
  requireSayable(store.kind, pod);
  const { bytes, warnings } = await imagineObject(store, registry.admission, {
    ...new CallWrite({ dryRun: ['All'] }, call),
    take: () => structuredClone(pod) as AnyObject,
  });
  warnings.forEach(warn);
  const stored = decodeMessage<Pod>('berth.core.v1.Pod', bytes);
  return { ...stored, metadata: { ...stored.metadata, name: name || generateName } };
}

/** Of all schedulers that are connected, if none is named, the newest first. */
async function last(links: SchedulerLinks, list: ListPlacementsRequest, signal: AbortSignal): Promise<Placement[]> {
  const { schedulerName, limit = 0 } = list;
  const connected = schedulerName ? [schedulerName] : links.names();
  const names = connected.length > 0 ? connected : [defaultSchedulerName];
  const answers = await Promise.all(names.map((name) => links.ask(name, { list: { ...list, schedulerName: name } }, signal)));
  const items = answers.flatMap(({ placements }) => placements?.items ?? []);
  const newest = items.toSorted((a, b) => compareTimestamps(b.time, a.time));
  return limit === 0 ? newest : newest.slice(0, limit);
}

async function serve(links: SchedulerLinks, call: Duplex, context: CallContext): Promise<void> {
  context.authorize({ verb: 'update', kind: 'Scheduler', namespace: '', name: '' });
  const frames = framesOf(call);
  const read = (bytes: Buffer): PlacementAnswer => decodeStrictly<PlacementAnswer>(`${messages}.PlacementAnswer`, bytes, 'frame');
  const first = await frames.next();
  const schedulerName = first.done ? '' : (read(first.value).schedulerName ?? '');
  if (schedulerName === '') throw badRequest('the first message must say whose pods the scheduler places');
  const link = { send: (frame: Buffer) => void call.write(frame) };
  const disconnect = links.connect(schedulerName, link);
  const listen = async (): Promise<void> => {
    for await (const bytes of frames) links.answer(link, read(bytes));
  };
  try {
    // A server that stops waits for no scheduler.
    await abortable(listen(), context.signal);
  } finally {
    disconnect();
  }
}

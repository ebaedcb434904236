import { list, strings, type Tree, text, tree } from '../describe/json.ts';

/** Why a pod is not up, by where it is stuck. */
export type TroubleType =
  | 'unschedulable'
  | 'gated'
  | 'start'
  | 'crash'
  | 'failed'
  | 'node'
  | 'unready'
  | 'deleting'
  /** On its way: nothing is wrong so far. */
  | 'starting';

/** Why one pod is not up, as far as its status says. */
export interface PodTrouble {
  readonly type: TroubleType;
  /** Pods with the same text are told of together. */
  readonly key: string;
  /** What follows the number of pods: "2 pods unschedulable: ...". */
  readonly what: string;
  /** The container that is in the way. */
  readonly container?: string;
  /** The run whose last lines say why it failed. */
  readonly run?: { readonly container: string; readonly previous: boolean };
  readonly restarts?: number;
  /** Since when, ms; 0: unknown. */
  readonly since: number;
}

/** The same trouble of several pods. */
export interface Trouble extends PodTrouble {
  readonly pods: readonly Tree[];
}

/** What keeps a pod from being up; undefined: nothing does, it is ready or has done its work. Pure. */
export function troubleOf(pod: Tree, now: number): PodTrouble | undefined {
  const deletion = text(pod, 'metadata', 'deletionTimestamp');
  if (deletion !== '') return Date.parse(deletion) < now ? overdue(pod, deletion) : undefined;
  const phase = text(pod, 'status', 'phase');
  if (phase === 'Succeeded') return undefined;
  if (phase === 'Failed') return failed(pod);
  if (conditionOf(pod, 'Ready').status === 'True') return undefined;
  return unscheduled(pod) ?? lostNode(pod) ?? stuckContainer(pod) ?? unready(pod) ?? starting(pod);
}

/** The troubles of pods, what most of them have first; those on their way come last. Pure. */
export function groupTroubles(pods: readonly Tree[], now: number): Trouble[] {
  const groups = new Map<string, { first: PodTrouble; pods: Tree[]; restarts: number; since: number }>();
  for (const pod of pods) {
    const trouble = troubleOf(pod, now);
    if (!trouble) continue;
    const group = groups.get(trouble.key);
    if (!group) groups.set(trouble.key, { first: trouble, pods: [pod], restarts: trouble.restarts ?? 0, since: trouble.since });
    else {
      group.pods.push(pod);
      group.restarts = Math.max(group.restarts, trouble.restarts ?? 0);
      group.since = group.since === 0 ? trouble.since : Math.min(group.since, trouble.since || group.since);
    }
  }
  const rank = (type: TroubleType): number => (type === 'starting' ? 2 : type === 'failed' ? 1 : 0);
  return [...groups.values()]
    .map(({ first, ...rest }) => ({ ...first, ...rest }))
    .sort((a, b) => rank(a.type) - rank(b.type) || b.pods.length - a.pods.length);
}

function overdue(pod: Tree, deletion: string): PodTrouble {
  const finalizers = strings(pod, 'metadata', 'finalizers');
  const why =
    finalizers.length > 0 ? `wait for finalizers: ${finalizers.join(', ')}` : 'have not ended within their grace period';
  return { type: 'deleting', key: `deleting:${why}`, what: `being deleted, which ${why}`, since: at(deletion) };
}

function failed(pod: Tree): PodTrouble {
  const [reason, message] = [text(pod, 'status', 'reason'), text(pod, 'status', 'message')];
  const ended = containersOf(pod).find(({ status }) => isFailure(tree(status, 'state', 'terminated')));
  if (!ended) return { type: 'failed', key: `failed:${reason}:${message}`, what: `failed${because(reason, message)}`, since: 0 };
  const container = text(ended.status, 'name');
  const end = tree(ended.status, 'state', 'terminated');
  const how = endText(end);
  return {
    type: 'failed',
    key: `failed:${container}:${how}:${reason}`,
    what: `failed${because(reason, message)}: container "${container}" ${how}`,
    container,
    run: { container, previous: false },
    since: at(text(end, 'finishedAt')),
  };
}

function unscheduled(pod: Tree): PodTrouble | undefined {
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled.status !== 'False') return undefined;
  const message = text(scheduled, 'message');
  const since = at(text(scheduled, 'lastTransitionTime'));
  if (text(scheduled, 'reason') === 'SchedulingGated') {
    const gates = list(pod, 'spec', 'schedulingGates').map((gate) => text(gate, 'name'));
    const what = `held back by scheduling gates: ${gates.join(', ')}`;
    return { type: 'gated', key: what, what, since };
  }
  const what = `unschedulable: ${message || text(scheduled, 'reason')}`;
  return { type: 'unschedulable', key: what, what, since };
}

/** The node's agent is silent: what is known of the containers is old. */
function lostNode(pod: Tree): PodTrouble | undefined {
  const ready = conditionOf(pod, 'Ready');
  if (text(ready, 'reason') !== 'NodeNotReady' && text(pod, 'status', 'reason') !== 'NodeLost') return undefined;
  const what = `on node ${text(pod, 'spec', 'nodeName')}, which does not report`;
  return { type: 'node', key: what, what, since: at(text(ready, 'lastTransitionTime')) };
}

/** What a container waits for that is only beginning. */
const beginning: readonly string[] = ['', 'ContainerCreating', 'PodInitializing'];

/** The first container that cannot start, or that ends again and again. */
function stuckContainer(pod: Tree): PodTrouble | undefined {
  for (const { spec, status } of containersOf(pod)) {
    const container = text(status, 'name');
    const waiting = tree(status, 'state', 'waiting');
    const [now, last] = [tree(status, 'state', 'terminated'), tree(status, 'lastState', 'terminated')];
    const reason = text(waiting, 'reason');
    if (reason === 'CrashLoopBackOff' || isFailure(now)) return crash(status, spec, Object.keys(now).length > 0 ? now : last);
    // It runs once more, after a run that failed, and is not ready yet.
    if (tree(status, 'state').running !== undefined && status.ready !== true && isFailure(last)) return crash(status, spec, last);
    if (!beginning.includes(reason)) return noStart(pod, container, reason, text(waiting, 'message'));
    // The pod's node says what holds up a container that is only beginning, e.g. a volume that is not there.
    const message = text(waiting, 'message');
    if (message !== '' && reason === 'ContainerCreating') return noStart(pod, container, '', message);
  }
  return undefined;
}

const imageReasons: readonly string[] = ['ErrImagePull', 'ImagePullBackOff'];

function noStart(pod: Tree, container: string, reason: string, message: string): PodTrouble {
  const said = message
    .replaceAll(text(pod, 'metadata', 'name'), 'POD')
    .replaceAll(text(pod, 'metadata', 'uid') || '\u0000', 'UID');
  const image = text(containersOf(pod).find(({ spec }) => spec.name === container)?.spec, 'image');
  const cause = imageReasons.includes(reason) ? `image:${image}` : `${reason}:${said}`;
  return {
    type: 'start',
    key: `start:${container}:${cause}`,
    what: `with container "${container}" not starting${because(reason, message)}`,
    container,
    since: 0,
  };
}

function crash(status: Tree, spec: Tree, end: Tree): PodTrouble {
  const container = text(status, 'name');
  const limit = text(spec, 'resources', 'limits', 'memory');
  const why = text(end, 'reason') === 'OOMKilled' && limit !== '' ? `; its memory limit is ${limit}` : '';
  const how = Object.keys(end).length === 0 ? 'ends again and again' : endText(end);
  return {
    type: 'crash',
    key: `crash:${container}:${how}`,
    what: `with container "${container}" that ${how}${why}`,
    container,
    run: { container, previous: tree(status, 'state').running !== undefined },
    restarts: Number(text(status, 'restartCount') || '0'),
    since: at(text(end, 'finishedAt')),
  };
}

/** "ended with exit code 137 (OOMKilled)", with what the program left as its message. */
function endText(end: Tree): string {
  const [code, signal, reason] = [text(end, 'exitCode') || '0', text(end, 'signal'), text(end, 'reason')];
  const message = text(end, 'message').trim().split('\n').at(-1) ?? '';
  const how = signal !== '' && signal !== '0' ? `was ended by signal ${signal}` : `ended with exit code ${code}`;
  return `${how}${reason && reason !== 'Error' ? ` (${reason})` : ''}${message ? `: ${message}` : ''}`;
}

/** Containers run, and the pod is not ready all the same. */
function unready(pod: Tree): PodTrouble | undefined {
  for (const { spec, status, role } of containersOf(pod)) {
    const { running } = tree(status, 'state');
    if (running === undefined || status.ready === true || role === 'init') continue;
    const container = text(status, 'name');
    const probe =
      status.started !== true && spec.startupProbe !== undefined
        ? 'startup'
        : spec.readinessProbe !== undefined
          ? 'readiness'
          : '';
    const what = `not ready: container "${container}" runs${probe ? ` and does not pass its ${probe} probe` : ' and is not ready'}`;
    return { type: 'unready', key: what, what, container, since: at(text(running, 'startedAt')) };
  }
  const ready = conditionOf(pod, 'Ready');
  if (text(ready, 'reason') !== 'ReadinessGatesNotReady') return undefined;
  const what = `not ready: ${text(ready, 'message')}`;
  return { type: 'unready', key: what, what, since: at(text(ready, 'lastTransitionTime')) };
}

function starting(pod: Tree): PodTrouble {
  const since = at(text(pod, 'status', 'startTime')) || at(text(pod, 'metadata', 'creationTimestamp'));
  const isPlaced = text(pod, 'spec', 'nodeName') !== '';
  return { type: 'starting', key: `starting:${isPlaced}`, what: isPlaced ? 'starting' : 'waiting for the scheduler', since };
}

interface StatedContainer {
  readonly spec: Tree;
  readonly status: Tree;
  /** Of an init container that ends before the others begin. */
  readonly role: 'init' | 'main';
}

/** The containers with what is said of them, init containers that are done left out. */
function containersOf(pod: Tree): StatedContainer[] {
  const of = (specs: string, statuses: string): StatedContainer[] =>
    list(pod, 'status', statuses).map((status) => {
      const spec = list(pod, 'spec', specs).find((each) => each.name === status.name) ?? {};
      return { spec, status, role: specs === 'initContainers' && spec.restartPolicy !== 'Always' ? 'init' : 'main' };
    });
  return [...of('initContainers', 'initContainerStatuses'), ...of('containers', 'containerStatuses')];
}

/** Whether a state of termination is a failure. */
function isFailure(end: Tree): boolean {
  return Object.keys(end).length > 0 && (text(end, 'exitCode') || '0') !== '0';
}

function conditionOf(pod: Tree, type: string): Tree {
  return list(pod, 'status', 'conditions').find((each) => each.type === type) ?? {};
}

function because(reason: string, message: string): string {
  if (reason === '' && message === '') return '';
  return `, ${[reason, message].filter(Boolean).join(': ')}`;
}

function at(time: string): number {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? 0 : ms;
}

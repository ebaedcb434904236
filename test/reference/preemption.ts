/**
 * Preemption, slow and obviously right: every node is a list of pods, and every question is answered by adding all of
 * them up. What the fast one in scheduler/preemption/ is held to.
 */
export interface ReferencePod {
  readonly name: string;
  readonly priority: number;
  readonly cpu: number;
  readonly hostPort: number | undefined;
  readonly startedAt: number;
  /** The name of its budget, if it has one. */
  readonly budget: string | undefined;
}

export interface ReferenceNode {
  readonly name: string;
  readonly cpu: number;
  readonly mostPods: number;
  readonly pods: readonly ReferencePod[];
}

export interface ReferenceChoice {
  readonly node: string;
  readonly victims: readonly ReferencePod[];
  readonly violations: number;
}

export function fitsBeside(pod: ReferencePod, node: ReferenceNode, others: readonly ReferencePod[]): boolean {
  const cpu = others.reduce((sum, other) => sum + other.cpu, pod.cpu);
  const clash = others.some((other) => pod.hostPort !== undefined && other.hostPort === pod.hostPort);
  return cpu <= node.cpu && others.length + 1 <= node.mostPods && !clash;
}

/**
 * Every node on which others could make room, with whom they would be; the best first, and all that are as good as it.
 */
export function choicesFor(
  pod: ReferencePod,
  nodes: readonly ReferenceNode[],
  allowed: ReadonlyMap<string, number>,
): readonly ReferenceChoice[] {
  const all = nodes.flatMap((node) => choiceOn(pod, node, allowed) ?? []);
  const sorted = all.toSorted(compare);
  return sorted.filter((choice) => compare(choice, sorted[0]!) === 0);
}

function choiceOn(pod: ReferencePod, node: ReferenceNode, allowed: ReadonlyMap<string, number>): ReferenceChoice | undefined {
  if (fitsBeside(pod, node, node.pods)) return undefined;
  const lower = node.pods.filter((other) => other.priority < pod.priority).toSorted(mostImportantFirst);
  let staying = node.pods.filter((other) => other.priority >= pod.priority);
  if (lower.length === 0 || !fitsBeside(pod, node, staying)) return undefined;
  const broken = brokenBudgets(lower, allowed);
  const victims: ReferencePod[] = [];
  for (const other of [...lower.filter((each) => broken.has(each)), ...lower.filter((each) => !broken.has(each))]) {
    if (fitsBeside(pod, node, [...staying, other])) staying = [...staying, other];
    else victims.push(other);
  }
  return {
    node: node.name,
    victims: victims.toSorted(mostImportantFirst),
    violations: victims.filter((victim) => broken.has(victim)).length,
  };
}

/** Those that are one too many for their budget, if all go, the most important first. */
function brokenBudgets(pods: readonly ReferencePod[], allowed: ReadonlyMap<string, number>): ReadonlySet<ReferencePod> {
  const used = new Map<string, number>();
  return new Set(
    pods.filter(({ budget }) => {
      if (budget === undefined) return false;
      used.set(budget, (used.get(budget) ?? 0) + 1);
      return used.get(budget)! > (allowed.get(budget) ?? 0);
    }),
  );
}

function mostImportantFirst(a: ReferencePod, b: ReferencePod): number {
  return b.priority - a.priority || a.startedAt - b.startedAt;
}

function compare(a: ReferenceChoice, b: ReferenceChoice): number {
  const top = ({ victims }: ReferenceChoice) => victims[0]!.priority;
  const sum = ({ victims }: ReferenceChoice) => victims.reduce((total, { priority }) => total + priority + 2 ** 31, 0);
  const start = (choice: ReferenceChoice) =>
    Math.min(...choice.victims.filter(({ priority }) => priority === top(choice)).map(({ startedAt }) => startedAt));
  return (
    a.violations - b.violations ||
    top(a) - top(b) ||
    sum(a) - sum(b) ||
    a.victims.length - b.victims.length ||
    start(b) - start(a)
  );
}

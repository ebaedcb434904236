import type {
  ContainerStatus,
  Job,
  Pod,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
} from '../../api/generated/types.ts';

/** What a Job's failure policy says of a failed pod. */
export interface Verdict {
  /** Of the first rule that matches: FailJob, FailIndex, Ignore or Count. */
  readonly action?: string;
  /** Whether the failure counts against the limits. */
  readonly counts: boolean;
  /** Why the Job fails, with FailJob. */
  readonly message?: string;
}

const unmatched: Verdict = { counts: true };

/** The messages are Kubernetes'. */
export function judgeFailure({ spec }: Job, pod: Pod): Verdict {
  for (const [at, rule] of (spec?.podFailurePolicy?.rules ?? []).entries()) {
    const why = matchRule(rule, pod);
    const { action = '' } = rule;
    if (why === undefined) continue;
    const message = `${why} matching ${action} rule at index ${at}`;
    return { action, counts: action !== 'Ignore', ...(action === 'FailJob' && { message }) };
  }
  return unmatched;
}

/** What matches, in words; undefined: nothing does. */
function matchRule({ onExitCodes, onPodConditions = [] }: PodFailurePolicyRule, { metadata, status }: Pod): string | undefined {
  const name = `${metadata?.namespace}/${metadata?.name}`;
  if (onExitCodes) {
    const ended = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
    const found = ended.find((container) => matchesExitCode(container, onExitCodes));
    return found && `Container ${found.name} for pod ${name} failed with exit code ${found.state?.terminated?.exitCode}`;
  }
  const condition = status?.conditions?.find((each) =>
    onPodConditions.some((pattern) => pattern.type === each.type && pattern.status === each.status),
  );
  return condition && `Pod ${name} has condition ${condition.type}`;
}

function matchesExitCode(
  { name, state }: ContainerStatus,
  { containerName, operator, values = [] }: PodFailurePolicyOnExitCodesRequirement,
): boolean {
  const code = state?.terminated?.exitCode ?? 0;
  if (!state?.terminated || code === 0 || (containerName !== undefined && containerName !== name)) return false;
  if (operator === 'In') return values.includes(code);
  return operator === 'NotIn' && !values.includes(code);
}

import type { FieldViolation } from '../../errors/api-error.ts';
import { invalidValue, notSupported, required } from '../../errors/violations.ts';
import type { DaemonSet, DaemonSetUpdateStrategy, RollingUpdateDaemonSet } from '../../generated/types.ts';
import type { Violations } from '../checks.ts';
import { checkIntOrPercent, formatIntOrString, isNothing } from '../int-or-percent.ts';
import { hostPorts } from '../pod/host-ports.ts';
import { checkCollisionCount, checkCounts, checkSelectorAndTemplate, checkSelectorUnchanged } from '../workload-checks.ts';

export function validateDaemonSet({ spec = {} }: DaemonSet): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'spec', spec, ['minReadySeconds', 'revisionHistoryLimit']);
  checkSelectorAndTemplate(out, spec, { kind: 'DaemonSet' });
  checkStrategy(out, spec.updateStrategy ?? {});
  return out;
}

const STRATEGIES = ['RollingUpdate', 'OnDelete'];

function checkStrategy(out: Violations, { type, rollingUpdate }: DaemonSetUpdateStrategy): void {
  if (!STRATEGIES.includes(type ?? '')) out.push(notSupported('spec.updateStrategy.type', type, STRATEGIES));
  else if (type === 'OnDelete') return;
  else if (!rollingUpdate) out.push(required('spec.updateStrategy.rollingUpdate'));
  else checkRollingUpdate(out, 'spec.updateStrategy.rollingUpdate', rollingUpdate);
}

/** Either the old pod goes first, or the new one comes first. */
function checkRollingUpdate(out: Violations, at: string, { maxUnavailable, maxSurge }: RollingUpdateDaemonSet): void {
  checkIntOrPercent(out, `${at}.maxUnavailable`, maxUnavailable);
  checkIntOrPercent(out, `${at}.maxSurge`, maxSurge);
  const [waits, surges] = [!isNothing(maxUnavailable), !isNothing(maxSurge)];
  if (waits && surges)
    out.push(
      invalidValue(`${at}.maxSurge`, maxSurge && formatIntOrString(maxSurge), 'may not be set when maxUnavailable is non-zero'),
    );
  if (!waits && !surges) out.push(required(`${at}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
}

/** Accepted as in Kubernetes: the new pod waits for a port of the machine that the old one has, until that is gone. */
export function surgeNotes({ spec }: DaemonSet): string[] {
  const at = 'spec.updateStrategy.rollingUpdate.maxSurge';
  const { maxSurge } = spec?.updateStrategy?.rollingUpdate ?? {};
  const [first] = hostPorts({ spec: spec?.template?.spec ?? {} });
  if (!first || !maxSurge || isNothing(maxSurge)) return [];
  return [`${at}: a new pod cannot start beside the old one, both need port ${first.port} of the node; use maxUnavailable`];
}

export function validateDaemonSetUpdate(next: DaemonSet, previous: DaemonSet): FieldViolation[] {
  const out: Violations = [];
  checkSelectorUnchanged(out, next.spec, previous.spec);
  return out;
}

const COUNTS = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
] as const;

export function validateDaemonSetStatus({ status = {} }: DaemonSet, previous: DaemonSet): FieldViolation[] {
  const out: Violations = [];
  checkCounts(out, 'status', status, COUNTS);
  checkCollisionCount(out, status, previous.status);
  return out;
}

import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue, notSupported } from '../../errors/violations.ts';
import type { CertificateSigningRequest, CertificateSigningRequestCondition, Timestamp } from '../../generated/types.ts';
import { validateConditions } from '../conditions.ts';
import type { Subresource } from '../kind.ts';

/** The decision of an approver, a subresource. */
export const approvalTypes: readonly string[] = ['Approved', 'Denied'];
/** With the signer's: what has such a condition keeps it. They say that something is so, or are not there. */
const finalTypes: readonly string[] = [...approvalTypes, 'Failed'];
/** What each condition of a request must say. */
export const conditionsNeed = ['type', 'status', 'once'] as const;

const conditionsOf = ({ status }: CertificateSigningRequest) => status?.conditions ?? [];
const approvalsOf = (request: CertificateSigningRequest) =>
  conditionsOf(request).filter(({ type }) => approvalTypes.includes(type ?? ''));

/** Whether the request was approved, and not denied as well. */
export function isApproved(request: CertificateSigningRequest): boolean {
  return approvalsOf(request).length > 0 && approvalsOf(request).every(({ type }) => type === 'Approved');
}

/** The condition that says that it will come to nothing. */
export function refusalOf(request: CertificateSigningRequest): CertificateSigningRequestCondition | undefined {
  return conditionsOf(request).find(({ type }) => type === 'Denied' || type === 'Failed');
}

/**
 * The subresource that approves and denies requests: takes the conditions of what is sent, and what clients may change
 * of the metadata, and nothing else. As in Kubernetes it takes conditions of any type.
 */
export const certificateApproval: Subresource<CertificateSigningRequest> = {
  method: 'UpdateApproval',
  takesMetadata: true,
  take(sent, previous) {
    const { conditions: _, ...others } = previous.status ?? {};
    const conditions = conditionsOf(sent);
    return { ...previous, status: { ...others, ...(conditions.length > 0 && { conditions }) } };
  },
  validate: (next, previous) => [
    ...validateConditions(next.status, conditionsNeed),
    ...checkConditions(next),
    ...checkKept(next, previous),
  ],
};

/** What is approved is not denied as well, and none of these is anything but true. */
export function checkConditions(next: CertificateSigningRequest): FieldViolation[] {
  const conditions = conditionsOf(next);
  const out = conditions.flatMap(({ type = '', status = '' }, i) =>
    finalTypes.includes(type) && status !== '' && status !== 'True'
      ? [notSupported(`status.conditions[${i}].status`, status, ['True'])]
      : [],
  );
  const places = approvalTypes.map((type) => conditions.findIndex((each) => each.type === type));
  const last = Math.max(...places);
  if (places.every((place) => place >= 0))
    out.push(
      invalidValue(
        `status.conditions[${last}].type`,
        conditions[last]?.type,
        'Approved and Denied conditions are mutually exclusive',
      ),
    );
  return out;
}

/** What was approved, denied or given up stays so. */
function checkKept(next: CertificateSigningRequest, previous: CertificateSigningRequest): FieldViolation[] {
  const has = (request: CertificateSigningRequest, type: string) => conditionsOf(request).some((each) => each.type === type);
  return finalTypes
    .filter((type) => has(previous, type) && !has(next, type))
    .map((type) => forbidden('status.conditions', `updates may not remove a condition of type "${type}"`));
}

/** The status subresource leaves the decision as it is, whatever is sent of its reason, message and times. */
export function keepApprovals(next: CertificateSigningRequest, previous: CertificateSigningRequest): void {
  const { status } = next;
  if (!status?.conditions) return;
  const kept = approvalsOf(previous);
  status.conditions = status.conditions.map((each) => kept.find(({ type }) => type === each.type) ?? each);
}

/** The status subresource approves nothing. */
export function checkApprovalsUnchanged(next: CertificateSigningRequest, previous: CertificateSigningRequest): FieldViolation[] {
  const was = approvalsOf(previous).map(({ type }) => type);
  const added = approvalsOf(next).filter(({ type }) => !was.includes(type));
  const told = added.map(({ type }) => forbidden('status.conditions', `updates may not add a condition of type "${type}"`));
  return [...told, ...checkConditions(next), ...checkKept(next, previous)];
}

/** The times that a writer of conditions leaves to the server. */
export function stampConditions(next: CertificateSigningRequest, previous: CertificateSigningRequest, now: Timestamp): void {
  if (!next.status?.conditions) return;
  const before = conditionsOf(previous);
  next.status.conditions = next.status.conditions.map((each) => {
    const same = before.find(({ type, status }) => type === each.type && status === each.status);
    return { lastUpdateTime: now, lastTransitionTime: same?.lastTransitionTime ?? now, ...each };
  });
}

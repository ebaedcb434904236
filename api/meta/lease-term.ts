/**
 * A leader's term: which Lease it holds, and as of which transition. A write that carries one is refused as soon as the
 * Lease is another's, so what an old leader sent before it noticed does no harm.
 */
export interface LeaseTerm {
  readonly namespace: string;
  readonly name: string;
  /** `spec.holderIdentity` of the Lease. */
  readonly holder: string;
  /** `spec.leaseTransitions` of the Lease. */
  readonly transitions: number;
}

/** The metadata key (gRPC) in which a call carries the term of its leader. */
export const LEASE_TERM = 'berth-lease-term';

/** The value of the metadata: "NAMESPACE/NAME/TRANSITIONS/HOLDER", each part percent-encoded. */
export function formatLeaseTerm({ namespace, name, holder, transitions }: LeaseTerm): string {
  return [namespace, name, String(transitions), holder].map(encodeURIComponent).join('/');
}

/** Undefined for a text that is no term. */
export function parseLeaseTerm(text: string): LeaseTerm | undefined {
  const parts = text.split('/');
  if (parts.length !== 4 || parts.some((part) => part === '')) return undefined;
  try {
    const [namespace, name, transitions, holder] = parts.map(decodeURIComponent) as [string, string, string, string];
    if (!/^\d{1,15}$/.test(transitions)) return undefined;
    return { namespace, name, holder, transitions: Number(transitions) };
  } catch {
    return undefined;
  }
}

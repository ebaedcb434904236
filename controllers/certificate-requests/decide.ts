import type { CertificateSigningRequest, Node } from '../../api/generated/types.ts';
import { refusalOf } from '../../api/kinds/certificate-signing-request/approval.ts';
import { nodeClientSigner } from '../../api/kinds/certificate-signing-request/signers.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import { toMillis } from '../../api/meta/time.ts';
import type { RequestFacts } from './request-facts.ts';

export interface RequestView {
  readonly request: CertificateSigningRequest;
  /** Undefined: it cannot be read. */
  readonly facts: RequestFacts | undefined;
  /** The node that it is for, if there is one. */
  readonly node: Node | undefined;
  readonly now: number;
}

export type RequestAction =
  | { readonly type: 'approve'; readonly reason: string; readonly message: string }
  | { readonly type: 'deny'; readonly reason: string; readonly message: string }
  /** It is no longer needed. */
  | { readonly type: 'remove' }
  /** Nothing is to be done; look again after so long. */
  | { readonly type: 'wait'; readonly ms: number };

/** Kubernetes' figures: an answer has been fetched by then, and a request without one will get none. */
const answeredMs = 3_600_000;
const pendingMs = 24 * 3_600_000;

const bootstrapUser = 'system:bootstrap:';
const bootstrapGroup = 'system:bootstrappers';
const nodeUser = 'system:node:';
const nodeGroup = 'system:nodes';
const keys: readonly string[] = ['ECDSA P-256', 'ECDSA P-384', 'ECDSA P-521', 'RSA 2048', 'RSA 3072', 'RSA 4096', 'Ed25519'];
const leastUsages: readonly string[] = ['client auth'];
const mostUsages: readonly string[] = ['client auth', 'digital signature', 'key encipherment'];

/** The name of the node that a request is for; undefined when it is for none. */
export function nodeNameIn(facts: RequestFacts | undefined): string | undefined {
  return facts?.commonName.startsWith(nodeUser) ? facts.commonName.slice(nodeUser.length) : undefined;
}

/**
 * What becomes of a request. Certificates of nodes are approved by rule: for callers with a join token, unless a node
 * of this name lives, and for nodes that renew their own. Everything else waits for a person. What is decided goes
 * after an hour, what is not after a day.
 */
export function decideRequest(view: RequestView): RequestAction {
  const { request, now } = view;
  const isAnswered = Boolean(request.status?.certificate?.length) || refusalOf(request) !== undefined;
  const madeAt = request.metadata?.creationTimestamp ? toMillis(request.metadata.creationTimestamp) : now;
  const left = madeAt + (isAnswered ? answeredMs : pendingMs) - now;
  if (left <= 0) return { type: 'remove' };
  const waits: RequestAction = { type: 'wait', ms: left };
  if (isAnswered || (request.status?.conditions ?? []).length > 0) return waits;
  if (request.spec?.signerName !== nodeClientSigner) return waits;
  const { username = '', groups = [] } = request.spec;
  if (username.startsWith(bootstrapUser) && groups.includes(bootstrapGroup)) return judge(view, joining(view));
  if (username.startsWith(nodeUser) && groups.includes(nodeGroup)) return judge(view, renewing(view));
  return waits;
}

/** Approved, unless there is something against it. */
function judge({ request, facts }: RequestView, against: string | undefined): RequestAction {
  const problem = problemOf(request, facts) ?? against;
  if (problem !== undefined) return { type: 'deny', reason: 'NodeRule', message: problem };
  return { type: 'approve', reason: 'NodeRule', message: `a certificate of node ${nodeNameIn(facts)}, by rule` };
}

/** What is wrong with the request itself. */
function problemOf({ spec }: CertificateSigningRequest, facts: RequestFacts | undefined): string | undefined {
  if (facts === undefined) return 'the request is no PKCS #10 request that can be read';
  const { commonName, organizations, others, hosts, key, isSigned } = facts;
  if (!isSigned) return 'the request is not signed with the key that it is for';
  if (!nodeNameIn(facts)) return `the common name "${commonName}" is not system:node:NAME`;
  if (organizations.length !== 1 || organizations[0] !== nodeGroup)
    return `the organizations "${organizations.join(', ')}" are not just ${nodeGroup}`;
  if (others.length > 0) return `the subject has more than a common name and an organization: ${others.join(', ')}`;
  if (hosts.length > 0) return `a certificate of a client is good for no host, but ${hosts.join(', ')} are named`;
  if (!keys.includes(key)) return `a key of the kind ${key} is not taken, use one of ${keys.join(', ')}`;
  const usages = spec?.usages ?? [];
  const wrong = usages.find((usage) => !mostUsages.includes(usage)) ?? leastUsages.find((usage) => !usages.includes(usage));
  return wrong === undefined
    ? undefined
    : `the usages must be "client auth" with or without "digital signature", not "${usages.join(', ')}"`;
}

function renewing({ request, facts }: RequestView): string | undefined {
  const own = request.spec?.username;
  return facts?.commonName === own ? undefined : `${own} may renew its own certificate only, not that of "${facts?.commonName}"`;
}

/** A name that a living node has is its own. One that has fallen silent may be the same machine, set up anew. */
function joining({ facts, node }: RequestView): string | undefined {
  const ready = findCondition(node?.status?.conditions, 'Ready');
  if (node === undefined || ready === undefined || ready.status === 'Unknown') return undefined;
  const name = nodeNameIn(facts);
  return `the cluster has a node ${name}, and its agent is alive: choose another name with --node-name, or end that agent and "berth delete node ${name}" first`;
}

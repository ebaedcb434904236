import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { authorityHash } from '../../api/meta/authority.ts';

/** Why a machine cannot join: a sentence with the cause and what to do about it. */
export class JoinProblem extends Error {}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** What a server showed when hands were shaken: its certificate first, then those behind it. */
export interface Handshake {
  readonly chain: readonly X509Certificate[];
  readonly speaksHttp2: boolean;
}

/** What --ca-hash takes; lower case. Undefined for anything else. */
export function parseAuthorityHash(text: string): string | undefined {
  return /^sha256:[0-9a-f]{64}$/.test(text.toLowerCase()) ? text.toLowerCase() : undefined;
}

/**
 * Whether who answered is the server of the cluster that was meant: its authority's key has the hash, and the authority
 * signed its certificate. Answers the authority, from now on the only one that is trusted. Throws JoinProblem.
 */
export function judgeAuthority(
  endpoint: Endpoint,
  { chain, speaksHttp2 }: Handshake,
  wanted: readonly string[],
): X509Certificate {
  const where = `${endpoint.host}:${endpoint.port}`;
  const [leaf, ...behind] = chain;
  const authorities = behind.filter(({ ca }) => ca);
  if (leaf === undefined || authorities.length === 0 || !speaksHttp2)
    throw new JoinProblem(`what listens at ${where} is no Berth server: it shows no authority of a cluster`);
  const meant = authorities.filter((each) => wanted.includes(authorityHash(each)));
  // While another authority takes over, its key is shown twice: signed by itself, which is what can be trusted,
  // and by the one before.
  const pinned = meant.find((each) => isIssuedBy(each, each)) ?? meant[0];
  if (pinned === undefined)
    throw new JoinProblem(
      `the server at ${where} is of another cluster, or the connection is intercepted: its authority has the hash ${authorities.map(authorityHash).join(', ')}, and --ca-hash says ${wanted.join(', ')}. Nothing was sent to it. "berth token create" on the right server prints its address and hash`,
    );
  const links = authorities.filter((each) => isIssuedBy(each, pinned));
  if (![pinned, ...links].some((each) => isIssuedBy(leaf, each)))
    throw new JoinProblem(
      `the certificate of the server at ${where} is not signed by the authority that --ca-hash names: the connection may be intercepted. Nothing was sent to it`,
    );
  return pinned;
}

const isIssuedBy = (certificate: X509Certificate, by: X509Certificate): boolean =>
  certificate.checkIssued(by) && certificate.verify(by.publicKey);

/**
 * From here on a clock is to be set before its machine joins: leases,
 * tokens and logs of the two would tell of different times.
 */
const mostSkewMs = 5 * 60_000;
const noticedSkewMs = 60_000;

/** How far this machine's clock is off, in words; undefined when it is not worth a word. */
export function describeSkew(
  serverMs: number | undefined,
  hereMs: number,
): { readonly text: string; readonly isTooMuch: boolean } | undefined {
  if (serverMs === undefined) return undefined;
  const offMs = hereMs - serverMs;
  const much = Math.abs(offMs);
  if (much < noticedSkewMs) return undefined;
  const text = `this machine's clock is ${describeSpan(much)} ${offMs > 0 ? 'ahead of' : 'behind'} the server's (here ${stamp(hereMs)}, there ${stamp(serverMs)})`;
  return { text, isTooMuch: much >= mostSkewMs };
}

const stamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

function describeSpan(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const units: readonly (readonly [string, number])[] = [
    ['days', 86_400],
    ['hours', 3_600],
    ['minutes', 60],
  ];
  const [name, size] = units.find(([, each]) => seconds >= 2 * each) ?? ['seconds', 1];
  return `${Math.round(seconds / size)} ${name}`;
}

/** What is wrong with the server's certificate besides; undefined when nothing is. */
export function judgeCertificate(leaf: X509Certificate, { host }: Endpoint, hereMs: number): string | undefined {
  const isNamed = isIP(host) ? leaf.checkIP(host) : leaf.checkHost(host);
  if (!isNamed) {
    const names = (leaf.subjectAltName ?? '').replaceAll(/(DNS|IP Address):/g, '');
    return `the server's certificate is good for ${names}, and not for ${host}: on its machine, "berth up --advertise ${host}"`;
  }
  if (Date.parse(leaf.validTo) <= hereMs)
    return `the server's certificate ended on ${leaf.validTo}: restart the server, which makes a new one`;
  if (Date.parse(leaf.validFrom) > hereMs)
    return `the server's certificate is not good before ${leaf.validFrom}: look at the clocks of both machines`;
  return undefined;
}

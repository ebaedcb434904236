import { X509Certificate } from 'node:crypto';
import type { ListCertificatesResponse } from '../../api/generated/types.ts';
import { formatAge } from '../../api/kinds/cells.ts';
import { authorityHash, splitCertificates } from '../../api/meta/authority.ts';
import { toMillis } from '../../api/meta/time.ts';
import { plainTable } from '../../cli/printers/plain-table.ts';

/** What renews each certificate before it expires. */
const renewedBy: Readonly<Record<string, string>> = {
  ca: 'berth certs renew --ca',
  'old ca': 'never: it is being replaced',
  server: 'the server',
  admin: 'the server; berth up puts it into the context',
  scheduler: 'the server',
  controllers: 'the server',
};

const headings = ['NAME', 'SUBJECT', 'EXPIRES', 'ENDS', 'SIGNED BY', 'RENEWED BY'] as const;

const isoOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** In how long, as ages are told. */
function leftText(endsAt: number, now: number): string {
  return endsAt <= now ? 'ended' : formatAge(endsAt - now);
}

/** What the server tells, for people. Pure. */
export function listText({ certificates = [], clients = [] }: ListCertificatesResponse, now: number): string {
  const authorities = new Map(
    certificates.filter(({ name = '' }) => name.endsWith('ca')).map(({ name = '', authorityHash: hash = '' }) => [hash, name]),
  );
  const signedBy = (hash = ''): string => authorities.get(hash) ?? 'another one';
  const own = certificates.map(({ name = '', subject = '', notAfter, authorityHash: hash }) => {
    const endsAt = notAfter ? toMillis(notAfter) : 0;
    return [name, subject, leftText(endsAt, now), isoOf(endsAt), signedBy(hash), renewedBy[name] ?? ''];
  });
  const seen = clients
    .toSorted((a, b) => (a.user ?? '').localeCompare(b.user ?? ''))
    .map(({ user = '', notAfter, authorityHash: hash, lastSeenTime }) => {
      const endsAt = notAfter ? toMillis(notAfter) : 0;
      const ago = lastSeenTime ? `${formatAge(now - toMillis(lastSeenTime))} ago` : '';
      return [user, leftText(endsAt, now), isoOf(endsAt), signedBy(hash), ago];
    });
  const table = plainTable(headings, own);
  if (seen.length === 0) return table;
  return `${table}\nConnected since the server started, with certificates of:\n${plainTable(['USER', 'EXPIRES', 'ENDS', 'SIGNED BY', 'CONNECTED'], seen)}`;
}

/** What a machine that has joined holds, for people: its authorities (PEM), and its own certificate. Pure. */
export function joinedText(nodeName: string, authorities: string, certificate: string, now: number): string {
  const known = splitCertificates(authorities).map((pem, at) => ({
    name: at === 0 ? 'ca' : 'old ca',
    is: new X509Certificate(pem),
  }));
  const own = new X509Certificate(certificate);
  const row = (name: string, is: X509Certificate, by: string): string[] => {
    const signer = known.find((each) => is.verify(each.is.publicKey));
    const endsAt = Date.parse(is.validTo);
    return [name, is.subject.split('\n').join(', '), leftText(endsAt, now), isoOf(endsAt), signer?.name ?? 'another one', by];
  };
  const rows = known.map(({ name, is }) => row(name, is, 'the server, which the agent follows'));
  return plainTable(headings, [...rows, row(`node-${nodeName}`, own, 'its agent')]);
}

/** The hash of the authority that signs now, of those that count (PEM). */
export function signerHash(authorities: string): string {
  return authorityHash(new X509Certificate(authorities));
}

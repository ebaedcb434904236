import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { authorityHash } from '../../api/meta/authority.ts';
import { timestamp } from '../../api/meta/time.ts';
import { createTestPki } from '../../test/fakes/test-pki.ts';
import { joinedText, listText, signerHash } from './tables.ts';

const now = Date.parse('2026-06-01T00:00:00Z');
const inDays = (days: number) => timestamp(new Date(now + days * 86_400_000));

it('shows what the server holds, by whom it is signed and renewed, and who comes with what', () => {
  const held = (name: string, days: number, hash: string) => ({
    name,
    subject: `CN=${name}`,
    notAfter: inDays(days),
    authorityHash: hash,
  });
  const text = listText(
    {
      certificates: [held('ca', 3_650, 'b'), held('old ca', 300, 'a'), held('server', 364, 'b'), held('admin', -1, 'a')],
      clients: [
        { user: 'system:node:n2', notAfter: inDays(20), authorityHash: 'a', lastSeenTime: inDays(-1) },
        { user: 'anna', notAfter: inDays(90), authorityHash: 'z', lastSeenTime: inDays(0) },
      ],
    },
    now,
  );
  expect(text).toBe(`\
NAME     SUBJECT     EXPIRES   ENDS                   SIGNED BY   RENEWED BY
ca       CN=ca       10y       2036-05-29T00:00:00Z   ca          berth certs renew --ca
old ca   CN=old ca   300d      2027-03-28T00:00:00Z   old ca      never: it is being replaced
server   CN=server   364d      2027-05-31T00:00:00Z   ca          the server
admin    CN=admin    ended     2026-05-31T00:00:00Z   old ca      the server; berth up puts it into the context

Connected since the server started, with certificates of:
USER             EXPIRES   ENDS                   SIGNED BY     CONNECTED
anna             90d       2026-08-30T00:00:00Z   another one   0s ago
system:node:n2   20d       2026-06-21T00:00:00Z   old ca        24h ago
`);
});

it('shows what a machine that has joined holds', async () => {
  const [pki, old] = [await createTestPki(), await createTestPki()];
  const { cert } = await old.issue('CN=system:node:n1');
  const text = joinedText('n1', `${pki.ca}\n${old.ca}\n`, cert, Date.now());
  expect(text.split('\n').map((line) => line.split(/ {3,}/))).toEqual([
    ['NAME', 'SUBJECT', 'EXPIRES', 'ENDS', 'SIGNED BY', 'RENEWED BY'],
    ['ca', 'CN=test-ca', expect.stringMatching(/^23h|24h$/), expect.any(String), 'ca', 'the server, which the agent follows'],
    ['old ca', 'CN=test-ca', expect.any(String), expect.any(String), 'old ca', 'the server, which the agent follows'],
    ['node-n1', 'CN=system:node:n1', expect.any(String), expect.any(String), 'old ca', 'its agent'],
    [''],
  ]);
  expect(signerHash(`${pki.ca}\n${old.ca}`)).toBe(authorityHash(new X509Certificate(pki.ca)));
});

import { expect, test } from 'vitest';
import { decodeMessage } from '../../api/codec/message.ts';
import { invalid, notFound } from '../../api/errors/index.ts';
import { invalidValue } from '../../api/errors/violations.ts';
import type { BadRequest, Status } from '../../api/generated/types.ts';
import { toStatus } from './status.ts';

/** What a client counts against its limit: names, values as they are sent, and 32 for each entry. */
function trailerBytes({ details, metadata }: ReturnType<typeof toStatus>): number {
  const bin = metadata.get('grpc-status-details-bin')[0] as Buffer;
  const entries = { 'grpc-status': '13', 'grpc-message': encodeURI(details), 'grpc-status-details-bin': bin.toString('base64') };
  return Object.entries(entries).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
}

test.each([
  ['plain text', 'x'],
  ['text that is percent-encoded', '%'],
  ['text of many bytes', '\u{1F600}'],
  ['half characters', '\ud800'],
])('an error with much %s stays within what clients of gRPC take as trailers', (_, character) => {
  const long = character.repeat(3_000);
  const violations = Array.from({ length: 200 }, (_, i) => invalidValue(`${i}${long}`, long, long));
  const subject = { kind: long, namespace: long, name: long };
  for (const error of [invalid(subject, violations), invalid(subject, violations.slice(0, 1)), notFound(subject)]) {
    expect(trailerBytes(toStatus(error, '0'.repeat(36)))).toBeLessThan(8_000);
  }
});

test('violations that do not fit are counted in the last one', () => {
  const violations = Array.from({ length: 200 }, (_, i) => invalidValue(`metadata.labels[${i}]`, '!', 'must be good'));
  const { metadata } = toStatus(invalid({ kind: 'Pod', name: 'a' }, violations), 'id');
  const { details = [] } = decodeMessage<Status>(
    'google.rpc.Status',
    metadata.get('grpc-status-details-bin')[0] as Buffer,
  ) as unknown as { details?: { value: Buffer }[] };
  const { field_violations: kept = [] } = decodeMessage<BadRequest>('google.rpc.BadRequest', details[1]!.value);
  expect(kept.length).toBeGreaterThan(25);
  expect(kept.at(-1)?.description).toBe(`and ${200 - kept.length + 1} more`);
});

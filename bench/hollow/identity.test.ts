import { describe, expect, it } from 'vitest';
import { ApiError, type ErrorCode } from '../../api/errors/index.ts';
import type { Client } from '../../client/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { issueIdentity } from './identity.ts';

/** A server that answers these calls with these codes, in order, and all later ones well; and what it was asked. */
function serverThat(...codes: readonly ErrorCode[]) {
  const left = [...codes];
  const asked: string[] = [];
  const answer = (call: string) => async () => {
    asked.push(call);
    const code = left.shift();
    if (code) throw new ApiError(code, 'ServiceUnavailable', `${call}: ${code}`);
    return { metadata: { name: 'hollow-csr-1' }, status: { certificate: Buffer.from('signed') } };
  };
  const requests = { create: answer('create'), patch: answer('approve'), get: answer('get') };
  const client = { resource: () => requests } as unknown as Client;
  const clock = createFakeClock();
  const wish = { client, nodeName: 'hollow-1', ca: 'ca', clock, signal: new AbortController().signal };
  const issue = async () => {
    const issued = issueIdentity(wish);
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    issued.then(over, over);
    while (!isOver) await clock.advance(5_000);
    return (await issued).current().certificate;
  };
  return { asked, issue };
}

describe('the certificate of a hollow node', () => {
  it('is asked for again when the server does not answer one of its calls', async () => {
    const { asked, issue } = serverThat('UNAVAILABLE');
    expect(await issue()).toBe('signed');
    expect(asked).toEqual(['create', 'create', 'approve', 'get']);
  });

  it('is asked for five times at most', async () => {
    const { asked, issue } = serverThat(...Array.from({ length: 9 }, () => 'DEADLINE_EXCEEDED' as const));
    await expect(issue()).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(asked).toHaveLength(5);
  });

  it('is not asked for again when the server refuses it', async () => {
    const { asked, issue } = serverThat('PERMISSION_DENIED');
    await expect(issue()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(asked).toEqual(['create']);
  });
});

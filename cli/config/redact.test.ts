import { describe, expect, it } from 'vitest';
import type { ConfigFile } from '../../client/index.ts';
import { minifyConfig, redactConfig } from './redact.ts';

const file = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    { name: 'a', cluster: { server: 'https://a:7443', 'certificate-authority-data': 'Q0E=' } },
    { name: 'b', cluster: { server: 'https://b:7443', 'certificate-authority-data': 'Q0E=' } },
  ],
  users: [
    { name: 'a', user: { 'client-certificate-data': 'Q0VSVA==', 'client-key-data': 'S0VZ', username: 'ann', password: 'pw' } },
    { name: 'b', user: { token: 'T', exec: { env: [{ name: 'SECRET', value: 's3cr3t' }] } } },
  ],
  contexts: [
    { name: 'a', context: { cluster: 'a', user: 'a' } },
    { name: 'b', context: { cluster: 'b', user: 'b', namespace: 'team' } },
  ],
  'current-context': 'a',
} as unknown as ConfigFile;

describe('a contexts file that is shown', () => {
  it('has neither keys nor tokens, nor what it does not know', () => {
    const shown = redactConfig(file) as ConfigFile;
    expect(JSON.stringify(shown)).not.toMatch(/Q0E|Q0VS|S0VZ|"pw"|"T"|s3cr3t/);
    expect(shown.users[0]?.user).toEqual({
      'client-certificate-data': 'DATA+OMITTED',
      'client-key-data': 'DATA+OMITTED',
      username: 'ann',
      password: 'REDACTED',
    });
    expect(shown.clusters[1]?.cluster).toEqual({ server: 'https://b:7443', 'certificate-authority-data': 'DATA+OMITTED' });
  });

  it('can be cut down to one context with what it uses', () => {
    const { clusters, users, contexts, 'current-context': current } = minifyConfig(file, 'b');
    expect([clusters, users, contexts].map((entries) => entries.map(({ name }) => name))).toEqual([['b'], ['b'], ['b']]);
    expect(current).toBe('b');
  });
});

import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Secret } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { bootstrapTokenSecret, parseTokenText, readBootstrapToken } from '../../api/kinds/secret/bootstrap-token.ts';
import { KindCache } from '../watch/kind-cache.ts';
import { anyOf, BootstrapTokens } from './bootstrap-tokens.ts';

const now = Date.parse('2026-06-01T12:00:00Z');
const token = { id: 'abcdef', secret: '0123456789abcdef', expiresAt: now + 60_000, description: 'rack 7', authenticates: true };
const text = 'abcdef.0123456789abcdef';

function holding(...secrets: readonly Secret[]): BootstrapTokens {
  const cache = new KindCache(kindNamed('Secret'));
  const tokens = new BootstrapTokens(cache, () => new Date(now));
  tokens.observe();
  const items = secrets.map((secret, i) => ({
    key: `secrets/${secret.metadata?.namespace}/${secret.metadata?.name}`,
    bytes: encodeMessage('berth.core.v1.Secret', secret),
    revision: i + 1,
  }));
  cache.reset(items as never, items.length);
  return tokens;
}

const changed = (change: (secret: Secret) => void): Secret => {
  const secret = bootstrapTokenSecret(token);
  change(secret);
  return secret;
};

describe('a token for joining', () => {
  it('is kept as Kubernetes keeps it, and read back', () => {
    const secret = bootstrapTokenSecret(token);
    expect(secret).toMatchObject({
      metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
    });
    expect(secret.data?.expiration?.toString()).toBe('2026-06-01T12:01:00Z');
    expect(readBootstrapToken(secret)).toEqual(token);
  });

  it.each(['', 'abcdef', 'abcdef.', 'ABCDEF.0123456789abcdef', 'abcdef.0123456789abcdefg', ' abcdef.0123456789abcdef'])(
    'has the form ID.SECRET, which "%s" has not',
    (wrong) => expect(parseTokenText(wrong)).toBeUndefined(),
  );

  it('says who brings it', () => {
    expect(holding(bootstrapTokenSecret(token)).find(text)).toEqual({
      user: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers'],
    });
  });

  it.each<[string, Secret]>([
    ['of another secret', bootstrapTokenSecret({ ...token, secret: 'fedcba9876543210' })],
    ['of another id', bootstrapTokenSecret({ ...token, id: 'zzzzzz' })],
    ['that is not for calling the API', bootstrapTokenSecret({ ...token, authenticates: false })],
    ['in another namespace', changed((secret) => Object.assign(secret.metadata!, { namespace: 'default' }))],
    ['under another name', changed((secret) => Object.assign(secret.metadata!, { name: 'bootstrap-token-zzzzzz' }))],
    ['of another type', changed((secret) => Object.assign(secret, { type: 'Opaque' }))],
    ['with an end that cannot be read', changed((secret) => Object.assign(secret.data!, { expiration: Buffer.from('soon') }))],
  ])('is not known: one %s', (_, secret) => {
    expect(holding(secret).find(text)).toBeUndefined();
  });

  it('says when it expired, only to a caller with the right secret', () => {
    const tokens = holding(bootstrapTokenSecret({ ...token, expiresAt: now }));
    expect(() => tokens.find(text)).toThrow(/join token abcdef expired at 2026-06-01T12:00:00.000Z.*berth token create/);
    expect(tokens.find('abcdef.ffffffffffffffff')).toBeUndefined();
  });

  it('is one of several kinds of tokens', () => {
    const other = { find: (sent: string) => (sent === 'x' ? { user: 'anna', groups: [] } : undefined) };
    const all = anyOf([other, holding(bootstrapTokenSecret(token))]);
    expect([all.find('x')?.user, all.find(text)?.user, all.find('y')]).toEqual(['anna', 'system:bootstrap:abcdef', undefined]);
  });
});

import { describe, expect, it } from 'vitest';
import type { Pod, TokenRequestSpec } from '../../../api/generated/types.ts';
import { checkNodeToken } from './node-tokens.ts';

const n1 = { user: 'system:node:n1', groups: ['system:nodes'] };
const bound: TokenRequestSpec = { boundObjectRef: { kind: 'Pod', name: 'web', uid: 'u1' } };
const showing = (...audiences: (string | undefined)[]): Pod => ({
  metadata: { namespace: 'default', name: 'web', uid: 'u1' },
  spec: {
    nodeName: 'n1',
    volumes: [
      { name: 'e', volumeSource: { emptyDir: {} } },
      {
        name: 't',
        volumeSource: {
          projected: {
            sources: audiences.map((audience) => ({ serviceAccountToken: { path: 't', ...(audience && { audience }) } })),
          },
        },
      },
    ],
  },
});
const on = (nodeName: string | undefined): Pod =>
  ({ ...showing(undefined), spec: { ...showing(undefined).spec, nodeName } }) as Pod;

describe('a node, or a thief of its certificate, gets a token', () => {
  it.each<[string, TokenRequestSpec, Pod]>([
    ['for the API server', bound, showing(undefined)],
    ['for whom the pod names', { ...bound, audiences: ['vault'] }, showing('x', 'vault')],
  ])('of its pod %s', (_, spec, pod) => {
    expect(() => checkNodeToken(n1, spec, pod)).not.toThrow();
  });
});

describe('a node, or a thief of its certificate, gets no token', () => {
  it.each<[string, TokenRequestSpec, Pod | undefined, string]>([
    ['that is bound to nothing', {}, undefined, 'it is not bound to a pod'],
    ['of a pod of another node', bound, on('n2'), 'it is bound to the pod "web", which does not run on this node'],
    ['of a pod without a node', bound, on(undefined), 'which does not run on this node'],
    ['without a uid', { boundObjectRef: { kind: 'Pod', name: 'web' } }, showing(undefined), 'without a uid'],
    [
      'for an audience that the pod does not name',
      { ...bound, audiences: ['bank'] },
      showing('vault'),
      'shows a token for "bank"',
    ],
    ['for one more audience', { ...bound, audiences: ['vault', 'bank'] }, showing('vault'), 'shows a token for "bank"'],
    ['for the API server when the pod has others only', bound, showing('vault'), 'shows a token for the API server'],
    ['of a pod that shows none', bound, showing(), 'shows a token for the API server'],
  ])('%s', (_, spec, pod, why) => {
    expect(() => checkNodeToken(n1, spec, pod)).toThrow(why);
    expect(() => checkNodeToken(n1, spec, pod)).toThrow('node "n1" cannot get the token');
  });

  it('under a name that only looks like a node', () => {
    expect(() => checkNodeToken({ user: 'n1', groups: ['system:nodes'] }, bound, showing(undefined))).toThrow('cannot get');
  });
});

it('others may get what roles allow them', () => {
  expect(() => checkNodeToken({ user: 'anna', groups: [] }, {}, undefined)).not.toThrow();
});

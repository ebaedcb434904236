import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { computeMirror, decideMirror, type MirrorFacts, withMirror } from './decide-mirror.ts';

const staticPod: Pod = {
  metadata: { name: 'web-n1', namespace: 'default', uid: 'hash', labels: { a: 'b' }, annotations: { c: 'd' } },
  spec: { nodeName: 'n1' },
  status: { phase: 'Pending' },
};
const mirror = (uid = 'hash', more: Pod = {}): Pod => ({
  ...more,
  metadata: { name: 'web-n1', annotations: { 'kubernetes.io/config.mirror': uid }, resourceVersion: '7', ...more.metadata },
});
const facts: MirrorFacts = { wanted: staticPod, mirror: undefined, leaving: false, known: true, lives: true };

describe('a mirror', () => {
  it.each([
    ['is made where there is none', {}, 'create'],
    ['is kept while it shows the pod', { mirror: mirror() }, 'keep'],
    [
      'goes at once when a client deletes it',
      { mirror: mirror('hash', { metadata: { deletionTimestamp: { seconds: 1 } } }) },
      'delete',
    ],
    ['goes when it shows another pod', { mirror: mirror('old') }, 'delete'],
    ['of another pod stays until that has ended', { mirror: mirror('old'), leaving: true }, 'keep'],
    ['goes when no file describes its pod', { wanted: undefined, mirror: mirror() }, 'delete'],
    ['stays until its pod, whose file is gone, has ended', { wanted: undefined, mirror: mirror(), leaving: true }, 'keep'],
    ['stays while a file cannot be read that may be its own', { wanted: undefined, mirror: mirror(), known: false }, 'keep'],
    ['is not missed where nothing is wanted', { wanted: undefined }, 'keep'],
    [
      'is created again when a client has written that its pod has ended',
      { mirror: mirror('hash', { status: { phase: 'Failed' } }) },
      'delete',
    ],
    ['of a pod that is over is kept', { mirror: mirror('hash', { status: { phase: 'Succeeded' } }), lives: false }, 'keep'],
  ] as const)('%s', (_, given, expected) => {
    expect(decideMirror({ ...facts, ...given })).toBe(expected);
  });

  it('is the pod with the hash that it shows, owned by the node', () => {
    expect(computeMirror(staticPod, 'node-uid')).toEqual({
      metadata: {
        name: 'web-n1',
        namespace: 'default',
        labels: { a: 'b' },
        annotations: { c: 'd', 'kubernetes.io/config.mirror': 'hash' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true }],
      },
      spec: { nodeName: 'n1' },
    });
  });
});

describe('a static pod with what the API says of it', () => {
  it('has the status and the version of its mirror, and nothing else of it', () => {
    const status = { phase: 'Running', startTime: { seconds: 5 } };
    const seen = withMirror(staticPod, mirror('hash', { status, metadata: { deletionTimestamp: { seconds: 1 }, labels: {} } }));
    expect(seen).toEqual({ ...staticPod, metadata: { ...staticPod.metadata, resourceVersion: '7' }, status });
  });

  it('is not over because the API says so, and began when it says', () => {
    const status = { phase: 'Failed', startTime: { seconds: 5 }, reason: 'NodeLost' };
    expect(withMirror(staticPod, mirror('hash', { status })).status).toEqual({ phase: 'Pending', startTime: { seconds: 5 } });
  });

  it('is as it was without a mirror, and beside that of another pod', () => {
    expect(withMirror(staticPod, undefined)).toBe(staticPod);
    expect(withMirror(staticPod, mirror('other'))).toBe(staticPod);
  });
});

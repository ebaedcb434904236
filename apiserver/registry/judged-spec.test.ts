import { describe, expect, it } from 'vitest';
import { countElements } from '../../api/codec/elements.ts';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { JudgedSpec } from './judged-spec.ts';

const kind = kindNamed('Pod')!;
const podWith = (volume: string): Pod => ({
  metadata: { name: 'web', namespace: 'default', labels: { app: 'web', tier: 'frontend' } },
  spec: {
    containers: [{ name: 'web', image: 'nginx', volumeMounts: [{ name: volume, mountPath: '/t' }] }],
    volumes: [{ name: volume, volumeSource: { emptyDir: {} } }],
  },
  status: { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False' }] },
});

describe('a judged spec', () => {
  const judged = JudgedSpec.of(kind, podWith('token-00001') as never, 'token-00001')!;

  it('encodes an object with another drawn text as the codec does', () => {
    const pod = podWith('token-00002');
    expect(judged.encode(pod as never, 'token-00002').bytes).toEqual(encodeMessage(kind.message, pod));
    expect(judged.encode(podWith('token-00001') as never, 'token-00001').bytes).toEqual(
      encodeMessage(kind.message, podWith('token-00001')),
    );
  });

  it.each([
    ['all parts', podWith('token-00002')],
    ['no status', { ...podWith('token-00002'), status: undefined }],
    ['no metadata', { ...podWith('token-00002'), metadata: undefined }],
  ])('counts the elements of an object with %s', (_, pod) => {
    const { bytes, elements } = judged.encode(pod as never, 'token-00002');
    expect(elements).toBe(countElements(kind.message, bytes));
  });
});

import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec, RuntimeClass } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { runtimeClassRules } from './runtime-class.ts';

const classes: Record<string, RuntimeClass> = {
  plain: { handler: 'runc' },
  heavy: {
    handler: 'vm',
    overhead: { podFixed: { cpu: { string: '250m' }, memory: { string: '64Mi' } } },
    scheduling: { nodeSelector: { vm: 'yes' }, tolerations: [{ key: 'vm', operator: 'Exists' }] },
  },
};
const rules = runtimeClassRules(async (name) => classes[name]);

async function admit(spec: PodSpec): Promise<PodSpec> {
  const pod: Pod = { metadata: { name: 'web' }, spec };
  await rules.create(kindNamed('Pod'), pod);
  return pod.spec!;
}

describe('a new pod', () => {
  it('is left alone without a class, and with one that asks for nothing', async () => {
    expect(await admit({})).toEqual({});
    expect(await admit({ runtimeClassName: '' })).toEqual({ runtimeClassName: '' });
    expect(await admit({ runtimeClassName: 'plain', overhead: {} })).toEqual({ runtimeClassName: 'plain', overhead: {} });
  });

  it('gets what its class takes and where it runs, beside what it says itself', async () => {
    const toleration = { key: 'a', operator: 'Exists' };
    const spec = { runtimeClassName: 'heavy', nodeSelector: { disk: 'ssd', vm: 'yes' }, tolerations: [toleration] };
    expect(await admit(spec)).toEqual({
      runtimeClassName: 'heavy',
      overhead: { cpu: { string: '250m' }, memory: { string: '64Mi' } },
      nodeSelector: { disk: 'ssd', vm: 'yes' },
      tolerations: [toleration, { key: 'vm', operator: 'Exists' }],
    });
  });

  it('may say the same itself, in other words', async () => {
    const overhead = { cpu: { string: '0.25' }, memory: { string: '65536Ki' } };
    const spec = await admit({ runtimeClassName: 'heavy', overhead, tolerations: [{ key: 'vm', operator: 'Exists' }] });
    expect(spec.tolerations).toHaveLength(1);
  });

  it.each<[string, PodSpec, string]>([
    ['names a class that does not exist', { runtimeClassName: 'none' }, 'RuntimeClass "none" not found'],
    [
      'says another overhead',
      { runtimeClassName: 'heavy', overhead: { cpu: { string: '1' }, memory: { string: '64Mi' } } },
      "Pod's Overhead doesn't match",
    ],
    [
      'says a part of the overhead',
      { runtimeClassName: 'heavy', overhead: { cpu: { string: '250m' } } },
      "Pod's Overhead doesn't match",
    ],
    [
      'says an overhead that its class does not',
      { runtimeClassName: 'plain', overhead: { cpu: { string: '1' } } },
      'without corresponding RuntimeClass',
    ],
    ['says an overhead without a class', { overhead: { cpu: { string: '1' } } }, 'without corresponding RuntimeClass'],
    [
      'wants other nodes',
      { runtimeClassName: 'heavy', nodeSelector: { vm: 'no' } },
      'nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
    ],
  ])('is refused when it %s', async (_title, spec, words) => {
    await expect(admit(spec)).rejects.toMatchObject({
      reason: 'Forbidden',
      message: expect.stringMatching(/^pods "web" is forbidden: pod rejected: /),
    });
    await expect(admit(spec)).rejects.toThrow(words);
  });
});

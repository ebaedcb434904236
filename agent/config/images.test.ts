import { describe, expect, it } from 'vitest';
import type { Clock } from '../../client/clock.ts';
import { createFakeRuntime } from '../../test/fakes/fake-runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { createImageSource } from './images.ts';

const silent = (): void => undefined;

function setUp({ present, failure, invalid = false }: { present: boolean; failure: RuntimeError; invalid?: boolean }) {
  let nowMs = 0;
  const fake = createFakeRuntime({ images: present ? ['web:latest'] : [] });
  let pulls = 0;
  const images = {
    ...fake.images,
    find: async (reference: string) => {
      if (invalid) throw failure;
      return fake.images.find(reference);
    },
    pull: async () => {
      pulls++;
      throw failure;
    },
  };
  const clock = { now: () => nowMs } as Clock;
  return {
    source: createImageSource(images, clock, new AbortController().signal),
    pulls: () => pulls,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

const unreachable = new RuntimeError('unavailable', 'no such host');
const refused = new RuntimeError('image-unauthorized', 'access denied');

describe('an image that must be pulled each time', () => {
  it('is used as it is here while its registry cannot be reached, and says so', async () => {
    const { source } = setUp({ present: true, failure: unreachable });
    expect(await source.ensure('web:latest', 'Always', silent)).toEqual({
      present: true,
      pulledMs: undefined,
      unchecked: 'no such host',
    });
  });

  it('is asked for again after the back-off only, so that a registry that is away does not slow every start', async () => {
    const { source, pulls, pass } = setUp({ present: true, failure: unreachable });
    await source.ensure('web:latest', 'Always', silent);
    await source.ensure('web:latest', 'Always', silent);
    expect(pulls()).toBe(1);
    pass(10_000);
    await source.ensure('web:latest', 'Always', silent);
    expect(pulls()).toBe(2);
  });

  it('is not used when the registry refuses it, although it is here', async () => {
    const { source } = setUp({ present: true, failure: refused });
    expect(await source.ensure('web:latest', 'Always', silent)).toMatchObject({ present: false, reason: 'ErrImagePull' });
    expect(await source.ensure('web:latest', 'Always', silent)).toMatchObject({ present: false, reason: 'ImagePullBackOff' });
  });

  it('fails when it is not here and its registry cannot be reached', async () => {
    const { source } = setUp({ present: false, failure: unreachable });
    expect(await source.ensure('web:latest', 'Always', silent)).toMatchObject({ present: false, message: 'no such host' });
  });
});

describe('a name that no image can have', () => {
  it.each(['Always', 'IfNotPresent', 'Never'])('is an answer and not a failure of the engine, with policy %s', async (policy) => {
    const invalid = new RuntimeError('image-invalid-name', 'invalid reference format');
    const { source } = setUp({ present: false, failure: invalid, invalid: true });
    expect(await source.ensure('Not A Name', policy, silent)).toMatchObject({ present: false, reason: 'InvalidImageName' });
  });
});

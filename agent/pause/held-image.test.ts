import { expect, it } from 'vitest';
import type { ContainerRuntime, ImageService, LocalImage, SandboxConfig } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { holdSandboxImage, withSandboxImage } from './held-image.ts';
import { ownSandboxImage } from './sandbox-image.ts';

/** An engine with images by id; the one that is loaded as the sandbox image is made anew each time. */
function engine() {
  const state = { loads: 0, ids: new Set<string>(), down: false, ran: [] as string[] };
  const images = {
    async load(reference: string): Promise<LocalImage> {
      state.loads++;
      if (state.down) throw new RuntimeError('unavailable', 'the engine is away');
      const id = `sha256:ours-${state.loads}`;
      state.ids.add(id);
      return { id, names: [reference], sizeBytes: 1 };
    },
  } as unknown as ImageService;
  const runtime = {
    async runSandbox({ image }: SandboxConfig) {
      if (!state.ids.has(image)) throw new RuntimeError('image-not-found', `no such image: ${image}`);
      state.ran.push(image);
    },
  } as unknown as ContainerRuntime;
  return { state, images, runtime };
}

const config = { image: ownSandboxImage } as SandboxConfig;

it('sandboxes run the image that was loaded, by its id, and not what has its name meanwhile', async () => {
  const { state, images, runtime } = engine();
  const pinned = withSandboxImage(runtime, holdSandboxImage(images));
  await Promise.all([pinned.runSandbox(config), pinned.runSandbox(config)]);
  // A pod's image gets the name.
  state.ids.add(ownSandboxImage);
  await pinned.runSandbox(config);
  expect([state.ran, state.loads]).toEqual([Array(3).fill('sha256:ours-1'), 1]);
});

it('the sandbox image is made again when the engine has it no more', async () => {
  const { state, images, runtime } = engine();
  const pinned = withSandboxImage(runtime, holdSandboxImage(images));
  await pinned.runSandbox(config);
  state.ids.clear();
  await pinned.runSandbox(config);
  expect(state.ran).toEqual(['sha256:ours-1', 'sha256:ours-2']);
});

it('a sandbox image that could not be made is tried again by the next sandbox', async () => {
  const { state, images, runtime } = engine();
  const pinned = withSandboxImage(runtime, holdSandboxImage(images));
  state.down = true;
  await expect(pinned.runSandbox(config)).rejects.toMatchObject({ code: 'unavailable' });
  state.down = false;
  await pinned.runSandbox(config);
  expect(state.ran).toEqual(['sha256:ours-2']);
});

import type { ContainerRuntime, ImageService, SandboxConfig } from '../runtime/runtime.ts';
import { RuntimeError } from '../runtime/runtime-error.ts';
import { ensureSandboxImage } from './sandbox-image.ts';

/**
 * The sandbox image by its id. A name would be no proof: a pod whose image is pulled or built under the same name gets
 * that name, and its program would run in every sandbox. Used by all that make sandboxes, at any time, also at once.
 */
export interface HeldImage {
  /** The id; found, made or pulled where it is not known. Throws RuntimeError. */
  id(): Promise<string>;
  /** The engine has it no more: it is made again. */
  forget(): void;
}

export function holdSandboxImage(images: ImageService, reference?: string): HeldImage {
  let held: Promise<string> | undefined;

  async function ensure(): Promise<string> {
    const { id } = await ensureSandboxImage(images, reference);
    return id;
  }

  return {
    async id() {
      held ??= ensure();
      const asked = held;
      try {
        return await asked;
      } catch (error) {
        // The next call tries again.
        if (held === asked) held = undefined;
        throw error;
      }
    },
    forget() {
      held = undefined;
    },
  };
}

/**
 * A runtime that creates sandboxes from the held image. The image may disappear while the agent runs: another Berth on
 * this machine is purged, or images are pruned.
 */
export function withSandboxImage(runtime: ContainerRuntime, image: HeldImage): ContainerRuntime {
  const pinned = async (config: SandboxConfig): Promise<SandboxConfig> => ({ ...config, image: await image.id() });
  return {
    ...runtime,
    async runSandbox(config, onCreated) {
      try {
        return await runtime.runSandbox(await pinned(config), onCreated);
      } catch (error) {
        if (!(error instanceof RuntimeError) || error.code !== 'image-not-found') throw error;
        image.forget();
        return runtime.runSandbox(await pinned(config), onCreated);
      }
    },
  };
}

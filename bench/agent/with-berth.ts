import { type BenchBerth, startBerth } from '../berth.ts';
import { createEngine, type Engine, floorLabel } from '../engine.ts';
import { ensureImage, floorImages, untilSandboxImage } from './rounds.ts';

/** Runs a part with a server and an agent of its own, and leaves nothing behind. */
export async function withBerth<T>(
  agentFlags: readonly string[],
  part: (berth: BenchBerth, engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = createEngine(floorImages);
  await ensureImage(engine);
  await engine.removeAll(floorLabel);
  const berth = await startBerth(...agentFlags);
  try {
    await untilSandboxImage(engine);
    return await part(berth, engine);
  } finally {
    await berth.stop();
    await engine.removeAll(floorLabel);
    await engine.removeAll(`io.berth.node=${berth.nodeName}`);
  }
}

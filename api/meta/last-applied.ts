import { isJsonObject, type Json, type JsonObject } from './merge-patch.ts';
import { annotations as wellKnown } from './well-known.ts';

/**
 * What was applied last, as the live object remembers it; undefined when it was not made by apply, or cannot be read.
 */
export function readLastApplied(live: JsonObject): JsonObject | undefined {
  const metadata = isJsonObject(live.metadata) ? live.metadata : {};
  const text = isJsonObject(metadata.annotations) ? metadata.annotations[wellKnown.lastApplied] : undefined;
  if (typeof text !== 'string') return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

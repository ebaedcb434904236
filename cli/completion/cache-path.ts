import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** A file below `$XDG_CACHE_HOME/berth`, or that below `~/.cache`. */
export function cachePath(name: string, env: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: folder = '' } = env;
  // By its specification a relative path counts as none.
  return join(isAbsolute(folder) ? folder : join(homedir(), '.cache'), 'berth', name);
}

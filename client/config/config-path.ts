import { homedir } from 'node:os';
import { join } from 'node:path';

/** `$BERTH_CONFIG`, or `~/.berth/config`. */
export function configPath(env: NodeJS.ProcessEnv = process.env): string {
  return env.BERTH_CONFIG || join(homedir(), '.berth', 'config');
}

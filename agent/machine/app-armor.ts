import { readFileSync } from 'node:fs';

/** Whether this machine's kernel enforces AppArmor profiles. It is switched on or off with the machine. */
export function isAppArmorEnabled(parameter = '/sys/module/apparmor/parameters/enabled'): boolean {
  try {
    return readFileSync(parameter, 'utf8').trim() === 'Y';
  } catch {
    return false;
  }
}

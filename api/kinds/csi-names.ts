import { subdomainNameError } from '../meta/names.ts';
import { checkRequired, checkRule, type Violations } from './checks.ts';

const LONGEST = 63;

/** The name of a CSI driver, by Kubernetes' rules. */
export function checkDriverName(out: Violations, at: string, name: string, driver: string): void {
  checkRequired(out, at, name, driver);
  if (driver === '') return;
  const tooLong = driver.length > LONGEST ? `must have at most ${LONGEST} characters` : undefined;
  checkRule(out, at, name, driver, tooLong ?? subdomainNameError(driver.toLowerCase()));
}

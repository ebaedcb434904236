import { versionInfo } from '../../api/meta/version-info.ts';
import { serverVersion } from '../server-version.ts';

/** The release of Kubernetes whose API this is. */
const MAJOR = '1';
const MINOR = '33';

/**
 * What /version answers, with all fields of Kubernetes' version.Info. Charts ask for a range of Kubernetes' versions,
 * which a suffix with a hyphen would lie outside of: ours is a plus.
 */
export function kubernetesVersion(): object {
  const { platform, nodeVersion } = versionInfo(serverVersion());
  const own = serverVersion().replace(/[^0-9A-Za-z.]/g, '.');
  return {
    major: MAJOR,
    minor: MINOR,
    emulationMajor: MAJOR,
    emulationMinor: MINOR,
    minCompatibilityMajor: MAJOR,
    minCompatibilityMinor: MINOR,
    gitVersion: `v${MAJOR}.${MINOR}.0+berth.${own}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node${nodeVersion.slice(1)}`,
    compiler: 'node',
    platform,
  };
}

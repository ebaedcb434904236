import { versionInfo } from '../../../api/meta/version-info.ts';
import { serverVersion } from '../../server-version.ts';

/** The release of Kubernetes whose API this is. */
const MAJOR = '1';
const MINOR = '33';

/** What hack/bundle.js writes into the program; sources that run as they are know nothing of it. */
const [COMMIT = '', BUILD_DATE = '1970-01-01T00:00:00Z', TREE_STATE = 'clean'] = (process.env.BERTH_BUILD ?? '').split(' ');

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
    gitCommit: COMMIT,
    gitTreeState: TREE_STATE,
    buildDate: BUILD_DATE,
    goVersion: `node${nodeVersion.slice(1)}`,
    compiler: 'node',
    platform,
  };
}

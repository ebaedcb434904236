import type { Command } from 'commander';
import { registerAgent } from './agent.ts';
import { registerAnnotate } from './annotate.ts';
import { registerApiResources } from './api-resources.ts';
import { registerApply } from './apply.ts';
import { registerAttach } from './attach.ts';
import { registerAudit } from './audit.ts';
import { registerAuth } from './auth.ts';
import { registerBackup } from './backup.ts';
import { registerCertificate } from './certificate.ts';
import { registerCerts } from './certs.ts';
import { registerCompact } from './compact.ts';
import { registerComplete } from './complete.ts';
import { registerCompletion } from './completion.ts';
import { registerConfig } from './config.ts';
import { registerCordon, registerUncordon } from './cordon.ts';
import { registerCp } from './cp.ts';
import { registerCreate } from './create.ts';
import { registerDebug } from './debug.ts';
import { registerDelete } from './delete.ts';
import { registerDescribe } from './describe.ts';
import { registerDiff } from './diff.ts';
import { registerDown } from './down.ts';
import { registerDrain } from './drain.ts';
import { registerEdit } from './edit.ts';
import { registerEvents } from './events.ts';
import { registerExec } from './exec.ts';
import { registerExplain } from './explain.ts';
import { registerGet } from './get.ts';
import { registerHistory } from './history.ts';
import { registerInstall } from './install.ts';
import { registerJoin } from './join.ts';
import { registerLabel } from './label.ts';
import { registerLogLevel } from './log-level.ts';
import { registerLogs } from './logs.ts';
import { registerPatch } from './patch.ts';
import { registerPortForward } from './port-forward.ts';
import { registerProto } from './proto.ts';
import { registerReplace } from './replace.ts';
import { registerRestore } from './restore.ts';
import { registerRun } from './run.ts';
import { registerScheduler } from './scheduler.ts';
import { registerSecrets } from './secrets.ts';
import { registerServer } from './server.ts';
import { registerSimulate } from './simulate.ts';
import { registerTaint } from './taint.ts';
import { registerToken } from './token.ts';
import { registerTop } from './top.ts';
import { registerUninstall } from './uninstall.ts';
import { registerUp } from './up.ts';
import { registerVersion } from './version.ts';
import { registerWait } from './wait.ts';
import { registerWhy } from './why.ts';

/** Every command; the order is the order of the help. */
export const commands: readonly ((program: Command) => void)[] = [
  registerUp,
  registerDown,
  registerToken,
  registerJoin,
  registerInstall,
  registerUninstall,
  registerApply,
  registerDiff,
  registerCreate,
  registerRun,
  registerEdit,
  registerPatch,
  registerReplace,
  registerLabel,
  registerAnnotate,
  registerGet,
  registerDescribe,
  registerHistory,
  registerWhy,
  registerSimulate,
  registerEvents,
  registerTop,
  registerDelete,
  registerCordon,
  registerUncordon,
  registerDrain,
  registerTaint,
  registerLogs,
  registerExec,
  registerAttach,
  registerDebug,
  registerPortForward,
  registerCp,
  registerWait,
  registerApiResources,
  registerExplain,
  registerBackup,
  registerRestore,
  registerCompact,
  registerAuth,
  registerCertificate,
  registerCerts,
  registerSecrets,
  registerAudit,
  registerConfig,
  registerLogLevel,
  registerProto,
  registerCompletion,
  registerComplete,
  registerServer,
  registerAgent,
  registerScheduler,
  registerVersion,
];

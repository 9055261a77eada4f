#pragma once

namespace fulgurite::cli {

/// Makes SIGINT, SIGTERM and SIGHUP requests to stop, which a loop looks for; a second one ends the process as usual.
/// Signals that the process ignores (nohup) stay ignored.
void catch_stop_signals();
/// The signal that asked to stop; 0 if none did.
int stop_signal();

}  // namespace fulgurite::cli

"""What makes it a laboratory: theorems, studies, claims, the run store, engines, the report, the command line."""
